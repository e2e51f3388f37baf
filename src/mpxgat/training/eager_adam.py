"""Adam whose steps are taken during the backward pass, so that hardly any gradient is ever kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8  # Adam's usual ones


@dataclass(frozen=True)
class Moments:
    """Adam's state of one parameter: number of steps (a scalar), and running means of gradient and squared gradient."""

    step: Tensor
    first: Tensor
    second: Tensor


class EagerAdam:
    """Steps each parameter as soon as its gradient is complete, and frees the gradient at once.

    The arithmetic is that of `torch.optim.Adam` over all parameters: the same kernel, called without its class, whose
    first use imports torch's compiler (70 MB and a second or more, for nothing). One `backward` is one step. Autograd
    completes a parameter's gradient after everything that read the parameter has run backward, so nothing sees it half
    changed.
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


def _no_moments(parameter: nn.Parameter) -> Moments:
    """The state before the first step. Made beforehand: made in the first backward pass it would end up between tensors
    that are freed, and the holes in memory would cost a tenth of the peak.
    """
    step = torch.zeros((), dtype=torch.float32, device=parameter.device)
    return Moments(step, torch.zeros_like(parameter.detach()), torch.zeros_like(parameter.detach()))
