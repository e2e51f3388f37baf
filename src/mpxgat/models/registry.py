"""Models by name. A model's module is imported when it is asked for, so that rules of thumb need no torch."""

from __future__ import annotations

import difflib
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from mpxgat.arrays import graph_from_arrays
from mpxgat.errors import GraphError, InputError, SettingError, printable, quoted
from mpxgat.io.array_files import read_arrays
from mpxgat.models.base import GRAPH, KIND, STATE, Model
from mpxgat.process import is_out_of_memory

_PLACES = {
    "auto": "auto:Auto",
    "evidence": "evidence:Evidence",
    "anchored": "anchored:Anchored",
    "mpxgat": "mpxgat:MPXGAT",
    "mpxgat-random": "mpxgat_random:MPXGATRandom",
    "gat": "gat:GAT",
    "graphsage": "graphsage:GraphSAGE",
    "multiplexsage": "multiplexsage:MultiplexSAGE",
    "gatne": "gatne:GATNE",
    "rules": "structural:Rules",
    "closure": "structural:Closure",
    "exclusion": "structural:Exclusion",
    "matched-neighbours": "structural:MatchedNeighbours",
    "common-neighbours": "structural:CommonNeighbours",
    "adamic-adar": "structural:AdamicAdar",
    "degree": "structural:Degree",
}


def model_names() -> tuple[str, ...]:
    """The names of all models."""
    return tuple(_PLACES)


def model_class(name: str) -> type[Model]:
    """The class registered under a name; SettingError with a near name if there is none."""
    if name not in _PLACES:
        near = difflib.get_close_matches(name, _PLACES, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise SettingError(f"no model {quoted(name)}; {hint}known are {', '.join(_PLACES)}")
    module, _, attribute = _PLACES[name].partition(":")
    found: type[Model] = getattr(import_module(f"mpxgat.models.{module}"), attribute)
    return found


def make_model(name: str, /, *, seed: int = 0, **settings: Any) -> Model:
    """A new, unfitted model; SettingError for an unknown name or a setting that does not fit."""
    return model_class(name)(seed=seed, **settings)


def load_model(path: str | PathLike[str]) -> Model:
    """A fitted model that `Model.save` wrote; InputError if the file is damaged or something else."""
    path = Path(path)
    header, arrays = read_arrays(path, KIND)
    graph_arrays = {name.removeprefix(GRAPH): array for name, array in arrays.items() if name.startswith(GRAPH)}
    state = {name.removeprefix(STATE): array for name, array in arrays.items() if name.startswith(STATE)}
    try:
        model = make_model(header["model"], seed=header["seed"], **header["settings"])
        return model.restore(graph_from_arrays(graph_arrays), state, header["notes"])
    except (GraphError, SettingError) as problem:
        raise InputError(str(problem), path) from None
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        if is_out_of_memory(problem):
            raise
        raise InputError(f"a damaged model file ({printable(problem)})", path) from None
