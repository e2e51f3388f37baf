"""The only epoch loop (early stopping on validation links, best epoch kept, checkpoints), and its optimizer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

from mpxgat.errors import SettingError, TrainingError
from mpxgat.training.checkpoint import Parameters, TrainingState

_LEAST_PATIENCE = 5  # validations
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8  # Adam's usual ones


@dataclass(frozen=True)
class Schedule:
    """How long to train, and how.

    epochs          at most
    check_every     epochs between two validations
    patience        validations without a better value before stopping
    warm_up         epochs in which the learning rate rises to ``lr``, in equal steps
    """

    epochs: int = 1500
    check_every: int = 10
    patience: int = 10
    lr: float = 5e-4
    weight_decay: float = 5e-5
    warm_up: int = 0

    def __post_init__(self) -> None:
        for name, least in (("epochs", 0), ("check_every", 1), ("patience", 1), ("warm_up", 0)):
            if getattr(self, name) < least:
                raise SettingError(f"{name} is {getattr(self, name)}, expected at least {least}")
        if not (math.isfinite(self.lr) and self.lr > 0):
            raise SettingError(f"lr is {self.lr}, expected a number above 0")
        if not (math.isfinite(self.weight_decay) and self.weight_decay >= 0):
            raise SettingError(f"weight_decay is {self.weight_decay}, expected a number of at least 0")

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch; the first is 0."""
        return self.lr * min(1.0, (epoch + 1) / (self.warm_up + 1))

    def in_batches(self, steps: int) -> Schedule:
        """For epochs of ``steps`` steps of the optimiser, if this was meant for epochs of one (full batch).

        Validation comes after as many steps as before, or after an epoch if that is more, and training stops after as
        many steps without a better value, but not before a few validations. Warming up takes as many steps as before.
        Weight decay is divided among the steps of an epoch: networks start near 0, where the loss is nearly flat, and
        the noise of batches slows them down but not the decay, which would pull them back for good. ``epochs`` stays
        what it says: how often every link is learned from at most.
        """
        check_every = max(1, self.check_every // steps)
        patience = math.ceil(self.patience * self.check_every / (check_every * steps))
        return replace(
            self,
            check_every=check_every,
            patience=max(patience, min(self.patience, _LEAST_PATIENCE)),
            weight_decay=self.weight_decay / steps,
            warm_up=self.warm_up // steps,
        )


class Trainee(Protocol):
    """Something that is trained. All chance comes from the epoch's number, so that a resumed run repeats itself."""

    module: nn.Module

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """The losses of an epoch, one for each step of the optimiser."""

    def validate(self) -> float | None:
        """A value to maximise, on links cut from the training links; None if there are none."""

    def readings(self) -> dict[str, float]:
        """Further numbers for the history, such as β."""


class StateStore(Protocol):
    """Where a training's state is kept: a `Checkpoint`, or a worker's part of one."""

    def due(self, seconds: float) -> bool:
        """Whether it is time to save, so many seconds after the last time."""

    def save(self, state: TrainingState) -> None:
        """Keep a state instead of the one before."""

    def load(self) -> TrainingState | None:
        """The state that is kept, if there is one."""


@dataclass(frozen=True)
class EpochReport:
    """What a progress bar shows.

    stalled     if training stops early with this epoch: how many there were since the best validation
    """

    epoch: int
    epochs: int
    loss: float
    validation: float | None
    readings: dict[str, float]
    stalled: int | None = None


@dataclass(frozen=True)
class Outcome:
    """How a training went; ``history`` has a row for each validation (epoch, loss, validation, readings)."""

    epochs: int
    best_epoch: int
    best_value: float | None
    history: list[dict[str, float]]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Outcome:
        """From a file, where the value is an AUC; ValueError for what no training of a model gives."""
        outcome = cls(**values)
        epochs = outcome.best_epoch, outcome.epochs
        if not all(isinstance(each, int) for each in epochs) or not 0 <= outcome.best_epoch <= outcome.epochs:
            raise ValueError(f"a best epoch of {outcome.best_epoch} of {outcome.epochs}")
        if outcome.best_value is not None and not 0 <= outcome.best_value <= 1:
            raise ValueError(f"a best value of {outcome.best_value}, expected an AUC")
        if not isinstance(outcome.history, list) or not all(isinstance(row, dict) for row in outcome.history):
            raise ValueError("a history that is no list of rows")
        return outcome


def train(
    trainee: Trainee,
    schedule: Schedule,
    checkpoint: StateStore | None = None,
    report: Callable[[EpochReport], None] | None = None,
) -> Outcome:
    """Train until the schedule's end or until validation no longer rises; the module ends with its best parameters.

    With a checkpoint, goes on where it stands and saves now and then and at the end. Nothing is saved on
    interruption: in the middle of an epoch the state is no state that an undisturbed training passes through.
    """
    module = trainee.module
    optimiser = EagerAdam(module.parameters(), schedule.lr, schedule.weight_decay)
    state = checkpoint.load() if checkpoint else None
    if state is None:
        state = TrainingState(epoch=0, parameters={})
    else:
        _restore(module, optimiser, state)
    saved = time.monotonic()
    while state.epoch < schedule.epochs and not state.finished:
        optimiser.lr = schedule.rate(state.epoch)
        _epoch(trainee, schedule, state, report)
        if checkpoint and checkpoint.due(time.monotonic() - saved):
            _save(checkpoint, module, optimiser, state)
            saved = time.monotonic()
    optimiser.close()
    state.finished = True
    if state.best is not None:
        module.load_state_dict(state.best)
    module.eval()
    if checkpoint:
        _save_finished(checkpoint, module, state)
    return Outcome(state.epoch, state.best_epoch, state.best_value, state.history)


def _epoch(
    trainee: Trainee,
    schedule: Schedule,
    state: TrainingState,
    report: Callable[[EpochReport], None] | None,
) -> None:
    trainee.module.train()
    loss = 0.0
    for step_loss in trainee.losses(state.epoch):
        step_loss.backward()  # type: ignore[no-untyped-call]  # EagerAdam steps in here
        loss += float(step_loss.detach())
    if not math.isfinite(loss):
        raise TrainingError(f"the loss became {loss} in epoch {state.epoch + 1}; a smaller lr may help")
    state.epoch += 1
    last = state.epoch == schedule.epochs
    value = None
    if state.epoch % schedule.check_every == 0 or last:
        value = _check(trainee, schedule, state, loss)
    if report:
        stalled = state.epoch - state.best_epoch if state.finished and not last else None
        report(EpochReport(state.epoch, schedule.epochs, loss, value, trainee.readings(), stalled))


def _check(trainee: Trainee, schedule: Schedule, state: TrainingState, loss: float) -> float | None:
    """Validate; note the best parameters, or stop if there were none for long."""
    trainee.module.eval()
    with torch.no_grad():
        value = trainee.validate()
    row = {"epoch": float(state.epoch), "loss": loss, **trainee.readings()}
    state.history.append(row if value is None else {**row, "validation": value})
    if value is None:
        return None
    if state.best_value is None or value > state.best_value:
        state.best_value, state.best_epoch, state.stale = value, state.epoch, 0
        state.best = _copy(trainee.module)
    else:
        state.stale += 1
        state.finished = state.stale >= schedule.patience
    return value


def _copy(module: nn.Module) -> Parameters:
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}


def _save(checkpoint: StateStore, module: nn.Module, optimiser: EagerAdam, state: TrainingState) -> None:
    state.parameters = module.state_dict()
    for name, parameter in module.named_parameters():
        kept = optimiser.moments(parameter)
        state.moments |= {f"{name}.first": kept.first, f"{name}.second": kept.second, f"{name}.step": kept.step}
    checkpoint.save(state)
    state.parameters, state.moments = {}, {}


def _save_finished(checkpoint: StateStore, module: nn.Module, state: TrainingState) -> None:
    """What a finished training leaves: its parameters and its history, nothing to go on from."""
    checkpoint.save(
        TrainingState(
            epoch=state.epoch,
            parameters=module.state_dict(),
            best_epoch=state.best_epoch,
            best_value=state.best_value,
            finished=True,
            history=state.history,
        )
    )


def _restore(module: nn.Module, optimiser: EagerAdam, state: TrainingState) -> None:
    try:
        module.load_state_dict(state.parameters)
    except RuntimeError:
        raise TrainingError("cannot resume: the checkpoint's parameters do not fit the model") from None
    for name, parameter in module.named_parameters():
        if f"{name}.first" in state.moments:
            step, first, second = (
                state.moments[f"{name}.{part}"].to(parameter.device) for part in ("step", "first", "second")
            )
            optimiser.set_moments(parameter, Moments(step, first, second))
    state.parameters, state.moments = {}, {}


# ---- Adam whose steps are taken during the backward pass, so that hardly any gradient is ever kept -----------------


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
        self.lr, self._weight_decay = lr, weight_decay
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
            lr=self.lr,
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
        rate = self.lr / _missing(_BETA_1, step)
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
