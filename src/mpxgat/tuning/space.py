"""The space that optuna searches: ranges and choices by name of the setting, as in a TOML file.

lr = {low = 1e-5, high = 1e-2, log = true}
hidden = {choices = [32, 64, 128]}
dropout = 0.6          # a plain value is the same in all trials
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpxgat.errors import InputError, SettingError, printable
from mpxgat.models import make_model
from mpxgat.tuning.toml_files import read_table

if TYPE_CHECKING:
    import optuna

Space = dict[str, Any]

_WIDTHS = {"choices": [32, 64, 128, 256]}
_RATE = {"low": 1e-5, "high": 1e-2, "log": True}
_DECAY = {"low": 1e-6, "high": 1e-1, "log": True}
_HEADS = {"low": 1, "high": 6}
# By name, for every model that has such a setting; the published values lie inside.
_USUAL: Space = {
    "hidden": _WIDTHS, "out": _WIDTHS, "heads": _HEADS, "dropout": {"low": 0.0, "high": 0.8},
    "lr": _RATE, "weight_decay": _DECAY,
    "vertical_hidden": _WIDTHS, "vertical_heads": _HEADS, "vertical_lr": _RATE, "vertical_weight_decay": _DECAY,
    "dimensions": _WIDTHS,
    "edge_dimensions": {"choices": [5, 10, 20]}, "attention_dimensions": {"choices": [10, 20, 40]},
}  # fmt: skip


def default_space(model: str) -> Space:
    """Usual ranges of the settings that the model has: rates, dropout, widths, heads."""
    known = make_model(model).settings
    return {name: spec for name, spec in _USUAL.items() if name in known}


def read_space(path: Path) -> Space:
    """A space from a TOML file; InputError for a range or a choice that is none."""
    space = read_table(path)
    for name, spec in space.items():
        problem = _problem(spec)
        if problem:
            raise InputError(f"{printable(name)} {problem}", path)
    return space


def check_space(model: str, space: Space) -> None:
    """SettingError if nothing varies, or for a setting or a value that the model does not take."""
    if not varied(space):
        raise SettingError("no setting varies, expected a range or choices for at least one")
    plain = {name: spec for name, spec in space.items() if not isinstance(spec, dict)}
    make_model(model, **plain)
    for name in varied(space):
        spec = space[name]
        for value in spec.get("choices") or (spec["low"], spec["high"]):
            make_model(model, **{**plain, name: value})


def varied(space: Space) -> tuple[str, ...]:
    """Names of the settings that are not the same in all trials."""
    return tuple(name for name, spec in space.items() if isinstance(spec, dict))


def suggest(trial: optuna.Trial, name: str, spec: Mapping[str, Any], default: Any) -> Any:
    """A value for a setting; whole numbers between whole bounds, unless its ``default`` is no whole number."""
    if "choices" in spec:
        return trial.suggest_categorical(name, spec["choices"])
    low, high, log = spec["low"], spec["high"], spec.get("log", False)
    if isinstance(default, float) or not (isinstance(low, int) and isinstance(high, int)):
        return trial.suggest_float(name, low, high, log=log)
    return trial.suggest_int(name, low, high, log=log)


def _problem(spec: Any) -> str:
    """What is wrong with a range or a choice, in words; empty for a good one and for a plain value."""
    if isinstance(spec, list):
        return "is a list, expected {choices = […]}; lists are for --grid"
    if not isinstance(spec, dict):
        return ""
    if "choices" in spec:
        good = len(spec) == 1 and isinstance(spec["choices"], list) and spec["choices"]
        return "" if good else "has no list of choices, expected {choices = [32, 64]}"
    numbers = all(type(spec.get(bound)) in (int, float) for bound in ("low", "high"))
    log = spec.get("log", False)
    if not numbers or not spec.keys() <= {"low", "high", "log"} or not isinstance(log, bool):
        return "is no range, expected {low = 1e-5, high = 1e-2, log = true} or {choices = [32, 64]}"
    if not spec["low"] < spec["high"] or (log and spec["low"] <= 0):
        return f"ranges from {spec['low']} to {spec['high']}, expected low < high, and above 0 on a log scale"
    return ""
