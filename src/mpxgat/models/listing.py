"""What models there are and what their settings mean, read from the models themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from mpxgat.models.base import Model, make_model

# A line of a docstring about one setting or several: "lr, epochs    Adam's learning rate; epochs at most".
_ENTRY = re.compile(r"(?P<names>\w+(?:, \w+)*) {2,}(?P<meaning>\S.*)")
_KINDS = {"int": "whole number", "float": "number", "str": "text", "bool": "true or false", "None": "none"}


@dataclass(frozen=True)
class SettingInfo:
    """A setting: its default, the kinds of values it takes, and what it means ("" if nobody wrote it down)."""

    name: str
    default: Any
    kind: str
    meaning: str


@dataclass(frozen=True)
class ModelInfo:
    """A model by the name that ``--model`` takes."""

    name: str
    description: str
    settings: tuple[SettingInfo, ...]

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.name,
            "description": self.description,
            "settings": [vars(setting) for setting in self.settings],
        }


def model_info(name: str) -> ModelInfo:
    """A model's settings in the order in which they are explained; SettingError if there is no such model."""
    model = make_model(name)
    meanings, kinds = _meanings(model), _kinds(model)
    defaults = {**model.get_params(), **model.settings}
    known = [each for each in defaults if each != "seed" and each not in model._fixed]
    explained = [each for each in meanings if each in known]
    settings = []
    for each in dict.fromkeys([*explained, *known]):
        kind = kinds.get(each) or _KINDS.get(type(defaults[each]).__name__, "")
        settings.append(SettingInfo(each, defaults[each], kind, meanings.get(each, "")))
    return ModelInfo(name, model.description, tuple(settings))


def _meanings(model: Model) -> dict[str, str]:
    """By setting, from the docstrings of the settings, of the model, or of the function it was made of."""
    found: dict[str, str] = {}
    for text in _docstrings(model):
        for names, meaning in _entries(text):
            for name in names:
                found.setdefault(name, meaning)
    return found


def _docstrings(model: Model) -> Iterator[str]:
    for cls in (*type(model._settings).__mro__, *type(model).__mro__):
        if cls is Model:
            break
        yield inspect.cleandoc(cls.__doc__ or "")
    yield getattr(model, "settings_help", "")


def _entries(text: str) -> Iterator[tuple[list[str], str]]:
    """Names and meaning of each entry; lines that are further in go on with it."""
    names: list[str] = []
    words: list[str] = []
    for line in [*text.splitlines(), ""]:
        entry = _ENTRY.fullmatch(line)
        if names and (entry or not line.startswith(" ")):
            yield names, " ".join(words).replace("``", "")
            names, words = [], []
        if entry:
            names, words = entry["names"].split(", "), [entry["meaning"]]
        elif names:
            words.append(line.strip())


def _kinds(model: Model) -> Mapping[str, str]:
    """The kinds of values by setting, where a dataclass declares them."""
    settings = model._settings
    if not is_dataclass(settings):
        return {}
    return {each.name: " or ".join(_KINDS[kind] for kind in str(each.type).split(" | ")) for each in fields(settings)}
