"""Adam whose steps are taken during the backward pass, so that hardly any gradient is ever kept."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8  # Adam's usual ones


@dataclass(frozen=True)
class Moments:
    """Adam's state of one parameter: number of steps, and running means of gradient and squared gradient.

    The number is a scalar; of a table whose rows are stepped by themselves it is (rows,).
    """

    step: Tensor
    first: Tensor
    second: Tensor


class EagerAdam:
    """Steps each parameter as soon as its gradient is complete, and frees the gradient at once.

    The arithmetic is that of `torch.optim.Adam` over all parameters: the same kernel, called without its class, whose
    first use imports torch's compiler (70 MB and a second or more, for nothing). One `backward` is one step. Autograd
    completes a parameter's gradient after everything that read the parameter has run backward, so nothing sees it half
    changed.

    A sparse gradient is one of a table of which a step reads some rows: only these are stepped, each row as an Adam of
    its own that counts the steps it took part in. A row that is read at every step goes as it would in a dense table;
    one that is not read stays, its moments and weight decay too, and costs nothing.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float = 1e-3, weight_decay: float = 0.0):
        self._lr, self._weight_decay = lr, weight_decay
        # A parameter's hook holds the optimiser; held by it in turn, the parameter would never be freed.
        self._moments = WeakTensorKeyDictionary({each: _no_moments(each) for each in parameters})
        self._hooks = [each.register_post_accumulate_grad_hook(self._step) for each in self._moments]

    def close(self) -> None:
        """No more steps: later backward passes leave gradients as usual."""
        for hook in self._hooks:
            hook.remove()

    def moments(self, parameter: nn.Parameter) -> Moments:
        """Adam's state of a parameter."""
        moments: Moments = self._moments[parameter]
        return moments

    def set_moments(self, parameter: nn.Parameter, moments: Moments) -> None:
        """Go on from what `moments` gave."""
        self._moments[parameter] = moments

    @torch.no_grad()
    def _step(self, parameter: nn.Parameter) -> None:
        assert parameter.grad is not None
        moments = self.moments(parameter)
        if parameter.grad.is_sparse:
            self._step_rows(parameter, parameter.grad, moments)
            parameter.grad = None
            return
        moments.step.add_(1)
        torch._fused_adam_(
            [parameter],
            [parameter.grad],
            [moments.first],
            [moments.second],
            [],
            [moments.step],
            lr=self._lr,
            beta1=_BETA_1,
            beta2=_BETA_2,
            weight_decay=self._weight_decay,
            eps=_EPSILON,
            amsgrad=False,
            maximize=False,
        )
        parameter.grad = None

    def _step_rows(self, parameter: nn.Parameter, gradient: Tensor, moments: Moments) -> None:
        """Written as single additions and products: combined ones round differently at the seams between threads."""
        if not moments.step.dim():
            moments = Moments(moments.step.expand(len(parameter)).clone(), moments.first, moments.second)
            self.set_moments(parameter, moments)
        rows, values = gradient._indices()[0], gradient._values()
        step, weights = moments.step.index_select(0, rows).add_(1), parameter.index_select(0, rows)
        if self._weight_decay:
            values = weights.mul(self._weight_decay).add_(values)
        first = moments.first.index_select(0, rows).mul_(_BETA_1).add_(values.mul(1 - _BETA_1))
        second = moments.second.index_select(0, rows).mul_(_BETA_2).add_(values.square().mul_(1 - _BETA_2))
        rate = self._lr / _missing(_BETA_1, step)
        spread = second.sqrt().div_(_missing(_BETA_2, step).sqrt().to(second.dtype)[:, None]).add_(_EPSILON)
        weights -= first.div(spread).mul_(rate.to(first.dtype)[:, None])
        for whole, part in ((parameter, weights), (moments.first, first), (moments.second, second)):
            whole.index_copy_(0, rows, part)
        moments.step.index_copy_(0, rows, step)


def _missing(beta: float, step: Tensor) -> Tensor:
    """1 - β^step: the weight that a running mean begun at 0 still lacks; in double precision."""
    return torch.expm1(step.double() * math.log(beta)).neg_()


def _no_moments(parameter: nn.Parameter) -> Moments:
    """The state before the first step. Made beforehand: made in the first backward pass it would end up between tensors
    that are freed, and the holes in memory would cost a tenth of the peak.
    """
    step = torch.zeros((), dtype=torch.float32, device=parameter.device)
    return Moments(step, torch.zeros_like(parameter.detach()), torch.zeros_like(parameter.detach()))
