"""The settings of MPXGAT: what they are, what they may be, and the published ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mpxgat.errors import SettingError, quoted
from mpxgat.models.settings import AUTO, Settings, check_batch
from mpxgat.nn.presets import Style, preset
from mpxgat.nn.stack import Widths
from mpxgat.training.loop import Schedule


@dataclass(frozen=True)
class MPXGATSettings(Settings):
    """Settings of both sub-models. A ``vertical_*`` that is None is as the horizontal one.

    The defaults were chosen on the small data sets ckm and celegans, seeds 100 and 101; `PUBLISHED` has the paper's.

    preset          "paper" (the text's equations) or "reference" (the authors' code), see `mpxgat.nn.presets`
    hidden, out     width of each head in hidden blocks, and of the embeddings
    heads, blocks   attention heads; depth
    dropout         on attention weights, while training
    lr, weight_decay, epochs    Adam, and its largest number of epochs
    check_every, patience       epochs between validations; validations without a better one before stopping
    validation      share of the training links kept out of training to stop on
    device          where to compute: "cpu", "cuda", …
    batch           links in a step of training: "full" (all of them), a whole number, or "auto" (all while they fit the
                    memory, else as many as do); in batches `check_every` and `patience` count steps, see
                    `mpxgat.training.loop.Schedule.in_batches`
    shares          parts that every batch is cut into, each computed by itself; as many workers can train one layer
                    together (`--engine ray`, `--jobs`), each keeping the rows of some of the nodes
    """

    preset: str = "paper"
    hidden: int = 64
    out: int = 64
    heads: int = 4
    blocks: int = 3
    dropout: float = 0.6
    lr: float = 5e-3
    weight_decay: float = 5e-5
    vertical_hidden: int | None = None
    vertical_out: int | None = None
    vertical_heads: int | None = None
    vertical_lr: float | None = None
    vertical_weight_decay: float | None = None
    epochs: int = 1500
    check_every: int = 10
    patience: int = 50
    validation: float = 0.1
    device: str = "cpu"
    batch: int | str = AUTO
    shares: int = 1

    def __post_init__(self) -> None:
        self.check_share("dropout", "validation")
        check_batch(self.batch)
        self.check_at_least(1, "shares")
        if self.shares > 1 and isinstance(self.batch, str):
            raise SettingError(f"shares is {self.shares} and batch {self.batch}, expected a number of links to share")
        if self.shares > 1 and self.device != "cpu":
            raise SettingError(f"shares is {self.shares} and device {quoted(self.device)}, expected cpu")
        # These check their own ranges.
        _ = self.style, self.horizontal_widths, self.vertical_widths
        _ = self.horizontal_schedule, self.vertical_schedule

    def to_dict(self) -> dict[str, Any]:
        """Plain values; ``batch`` and ``shares`` only where they were chosen: runs and results from before there was a
        choice are known again.
        """
        untold = {("batch", AUTO), ("shares", 1)}
        return {name: value for name, value in super().to_dict().items() if (name, value) not in untold}

    @property
    def style(self) -> Style:
        """The parts that blocks are made of."""
        return preset(self.preset)

    @property
    def horizontal_widths(self) -> Widths:
        """Shape of MPXGAT-H."""
        return Widths(self.hidden, self.out, self.heads, self.blocks)

    @property
    def vertical_widths(self) -> Widths:
        """Shape of MPXGAT-V."""
        return Widths(
            _or(self.vertical_hidden, self.hidden),
            _or(self.vertical_out, self.out),
            _or(self.vertical_heads, self.heads),
            self.blocks,
        )

    @property
    def horizontal_schedule(self) -> Schedule:
        """Training of MPXGAT-H."""
        return Schedule(self.epochs, self.check_every, self.patience, self.lr, self.weight_decay)

    @property
    def vertical_schedule(self) -> Schedule:
        """Training of MPXGAT-V."""
        lr, weight_decay = _or(self.vertical_lr, self.lr), _or(self.vertical_weight_decay, self.weight_decay)
        return Schedule(self.epochs, self.check_every, self.patience, lr, weight_decay)


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


# The settings known for the paper's three data sets: 3 blocks, dropout 0.6, Adam, at most 1500 epochs.
PUBLISHED: dict[str, dict[str, Any]] = {
    "drosophila": {
        "hidden": 128, "out": 128, "heads": 3, "lr": 5e-4, "weight_decay": 5e-4,
        "vertical_hidden": 128, "vertical_heads": 4, "vertical_lr": 1e-3, "vertical_weight_decay": 5e-4,
    },
    "arxiv": {
        "hidden": 256, "out": 128, "heads": 4, "lr": 5e-4, "weight_decay": 5e-5,
        "vertical_hidden": 256, "vertical_heads": 3, "vertical_lr": 5e-4, "vertical_weight_decay": 5e-5,
    },
    "fftwyt": {
        "hidden": 128, "out": 128, "heads": 5, "lr": 1e-5, "weight_decay": 5e-2,
        "vertical_hidden": 256, "vertical_heads": 3, "vertical_lr": 5e-4, "vertical_weight_decay": 5e-5,
    },
}  # fmt: skip
