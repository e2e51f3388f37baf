"""What a saved model was made with, and bounds of its numbers: what does not fit is refused by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib.metadata import version
from typing import Any

from mpxgat import __version__
from mpxgat.errors import SettingError, quoted
from mpxgat.models.evidence import candidates, inter_features, walks
from mpxgat.models.evidence.features import column_names
from mpxgat.models.evidence.inter_features import InterFeatures
from mpxgat.models.evidence.intra_features import IntraFeatures

_LIBRARIES = ("lightgbm", "scipy")  # grow the trees and read them; compute the features
_AGAIN = "train the model again"


def made_with(inter: InterFeatures, intra: IntraFeatures) -> dict[str, Any]:
    """Versions, constants that change features or candidates, and the columns of both kinds of classifier."""
    return {
        "versions": {"mpxgat": __version__, **{name: version(name) for name in _LIBRARIES}},
        "constants": walks.constants() | inter_features.constants() | candidates.constants(),
        "columns": {"inter": column_names(inter.columns), "intra": column_names(intra.columns)},
    }


def check_made_with(saved: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """SettingError names what of `made_with` is not as it is here; of a library only the major version counts."""
    versions = dict(saved["versions"])
    for name, current in here["versions"].items():
        used = str(versions[name])
        fits = used.split(".")[0] == current.split(".")[0] if name in _LIBRARIES else used == current
        if not fits:
            raise SettingError(f"a model made with {name} {quoted(used)}, this is {name} {current}; {_AGAIN}")
    constants = dict(saved["constants"])
    for name in {**here["constants"], **constants}:
        found, expected = constants.get(name), here["constants"].get(name)
        if found != expected:
            raise SettingError(
                f"a model made with {quoted(name)} = {quoted(found)}, this version has {expected}; {_AGAIN}"
            )
    for kind, names in here["columns"].items():
        learned = list(saved["columns"][kind])
        for number, (one, other) in enumerate(zip(learned, names, strict=False), 1):
            if one != other:
                raise SettingError(
                    f"column {number} of the {kind} classifier is {quoted(one)}, "
                    f"this version computes {quoted(other)}; {_AGAIN}"
                )
        if len(learned) != len(names):
            raise SettingError(
                f"the {kind} classifier has {len(learned)} columns, this version computes {len(names)}; {_AGAIN}"
            )


def checked_share(value: Any, what: str) -> float:
    """A number from 0 to 1; ValueError if it is not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError(f"{what} is {quoted(value)}, expected a number from 0 to 1")
    return float(value)


def checked_validation(saved: Mapping[str, Any], models: Collection[str]) -> dict[str, dict[str, float]]:
    """AUC by kind of link and model; ValueError unless every kind has a number from 0 to 1 for each of the models."""
    found = {}
    for kind, values in dict(saved).items():
        if kind not in ("intra", "inter"):
            raise ValueError(f"validation of {quoted(kind)} links, expected intra or inter")
        if dict(values).keys() != set(models):
            names = ", ".join(map(str, values)) or "nothing"
            raise ValueError(f"validation.{kind} has {names}, expected {', '.join(sorted(models))}")
        found[kind] = {name: checked_share(value, f"validation.{kind}.{name}") for name, value in values.items()}
    return found
