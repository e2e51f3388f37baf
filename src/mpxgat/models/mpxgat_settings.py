"""The settings of MPXGAT: what they are, what they may be, and the published ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from mpxgat.errors import SettingError, quoted
from mpxgat.nn.presets import Style, preset
from mpxgat.nn.stack import Widths
from mpxgat.training.loop import Schedule


@dataclass(frozen=True)
class MPXGATSettings:
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

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise SettingError(f"dropout is {self.dropout}, expected at least 0 and less than 1")
        if not 0 <= self.validation < 1:
            raise SettingError(f"validation is {self.validation}, expected at least 0 and less than 1")
        # These check their own ranges.
        _ = self.style, self.horizontal_widths, self.vertical_widths
        _ = self.horizontal_schedule, self.vertical_schedule

    @classmethod
    def of(cls, /, **settings: Any) -> MPXGATSettings:
        """Settings by name; SettingError for a name or a type that does not fit."""
        kinds = {field.name: str(field.type) for field in fields(cls)}
        for name, value in settings.items():
            if name not in kinds:
                raise SettingError(f"no setting {quoted(name)}; known are {', '.join(kinds)}")
            _check_type(name, value, kinds[name])
        return cls(**settings)

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

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _check_type(name: str, value: Any, kind: str) -> None:
    """An int where an int is expected (not a bool), a number where a float is, a text where a text is."""
    if value is None and "None" in kind:
        return
    expected = kind.split(" ")[0]
    fits = {
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, int | float) and not isinstance(value, bool),
        "str": isinstance(value, str),
    }[expected]
    if not fits:
        word = {"int": "a whole number", "float": "a number", "str": "a text"}[expected]
        raise SettingError(f"{name} is {quoted(value)}, expected {word}")


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
