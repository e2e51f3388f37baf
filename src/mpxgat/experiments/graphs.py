"""The graph of a cell: a data set, its largest layers, or a planted network; and its label in a record.

Labels: ``arxiv``, ``arxiv[top 3 layers]``, ``social(people=600,overlap=0.5)``. This file alone writes and reads them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mpxgat.datasets import dataset, load
from mpxgat.errors import DatasetError, SettingError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io import read
from mpxgat.synthetic import social

TOP_LAYERS = "top_layers"
_TOP = re.compile(r"(?P<dataset>.+)\[top (?P<layers>\d+) layers\]")
_PLANTED = re.compile(r"social\((?P<arguments>(\w+=([-+.\de]+|true|false),?)*)\)")
_PEOPLE_OF_A_TRIAL = 200


@cache
def _arguments() -> dict[str, Any]:
    """The arguments of `social` besides the seed, and their defaults."""
    return {name: p.default for name, p in inspect.signature(social).parameters.items() if name != "seed"}


@dataclass(frozen=True)
class GraphSpec:
    """What graph a cell is about.

    dataset     a data set's name or a file; None for a planted network
    top_layers  only so many layers, those with the most nodes, and of them the largest connected component
    planted     arguments of `mpxgat.synthetic.social` besides the seed, in its order; the cell's seed plants it
    """

    dataset: str | None = None
    top_layers: int | None = None
    planted: tuple[tuple[str, int | float], ...] = ()

    @classmethod
    def of_social(cls, arguments: Mapping[str, object]) -> GraphSpec:
        """A planted network; SettingError for an argument that `social` does not have or take."""
        values: dict[str, int | float] = {}
        for name, value in arguments.items():
            if name not in _arguments():
                raise SettingError(f"social has no argument {quoted(name)}; known are {', '.join(_arguments())}")
            values[name] = _checked(name, value)
        return cls(planted=tuple((name, values[name]) for name in _arguments() if name in values))

    @classmethod
    def parse(cls, label: str) -> GraphSpec:
        """The graph that a label stands for; SettingError for a planted network with arguments that are none."""
        if match := _PLANTED.fullmatch(label):
            parts = [part.split("=") for part in match["arguments"].split(",") if part]
            try:
                return cls.of_social({name: _value(text) for name, text in parts})
            except ValueError:
                raise SettingError(f"no graph is called {quoted(label)}, expected such as social(people=600)") from None
        if match := _TOP.fullmatch(label):
            return cls(match["dataset"], int(match["layers"]))
        return cls(label)

    @property
    def label(self) -> str:
        """The same text for the same graph."""
        if self.dataset is None:
            return f"social({','.join(f'{name}={_text(value)}' for name, value in self.planted)})"
        return self.dataset if self.top_layers is None else f"{self.dataset}[top {self.top_layers} layers]"

    @property
    def is_whole_dataset(self) -> bool:
        """Whether this is a data set or file as it is."""
        return self.dataset is not None and self.top_layers is None

    def varied(self, argument: str, value: int | float) -> GraphSpec:
        """The graph with another number of layers (``top_layers``) or another argument of `social`."""
        if self.dataset is None:
            return self.of_social({**dict(self.planted), argument: value})
        if argument != TOP_LAYERS or isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise SettingError(
                f"{argument} = {value} on a data set, expected {TOP_LAYERS} and a whole number from 1 on"
            )
        return replace(self, top_layers=value)

    def check(self) -> None:
        """DatasetError or SettingError for a graph that there cannot be; reads no data."""
        if self.dataset is None:
            arguments = dict(self.planted)
            few = max(_PEOPLE_OF_A_TRIAL, 2 * int(arguments.get("communities", 0)))
            arguments["people"] = min(arguments.get("people", _arguments()["people"]), few)
            social(**arguments)  # type: ignore[arg-type]  # it checks its arguments itself
        elif not _is_path(self.dataset):
            dataset(self.dataset)
        elif not Path(self.dataset).is_file():
            raise DatasetError(f"no file {quoted(self.dataset, 300)}, expected one, or a data set's name")

    def load(self, seed: int) -> MultiplexGraph:
        """Read the data, or plant the network with a seed."""
        if self.dataset is None:
            return social(seed=seed, **dict(self.planted))  # type: ignore[arg-type]
        graph = read(self.dataset) if _is_path(self.dataset) else load(self.dataset)
        return graph if self.top_layers is None else largest_layers(graph, self.top_layers)


@lru_cache(maxsize=4)  # cells go seed by seed, and each comes back to the same few data sets
def load_graph(label: str, seed: int) -> MultiplexGraph:
    """The graph of a cell. The seed matters to planted networks only."""
    spec = GraphSpec.parse(label)
    if spec.dataset is not None and seed:
        return load_graph(label, 0)
    return spec.load(seed)


def largest_layers(graph: MultiplexGraph, count: int) -> MultiplexGraph:
    """The ``count`` layers with the most nodes (the first among equals), their largest connected component."""
    if not 1 <= count <= graph.n_layers:
        raise SettingError(f"{TOP_LAYERS} is {count}, expected 1 to {graph.n_layers}, the layers of the data set")
    chosen = np.argsort(-np.diff(graph.layer_start), kind="stable")[:count]
    return graph.subgraph(np.isin(graph.node_layer, chosen)).largest_component()


def _checked(name: str, value: object) -> int | float:
    """The value of an argument of `social` in the type of its default; SettingError for what is not of its kind."""
    default = _arguments()[name]
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise SettingError(f"{name} is {quoted(value)}, expected true or false")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingError(f"{name} is {quoted(value)}, expected a number")
    return float(value) if isinstance(default, float) else value


def _text(value: int | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(text: str) -> int | float:
    """What `_text` wrote; ValueError if it is no number."""
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.isdigit() else float(text)


def _is_path(text: str) -> bool:
    return "/" in text or "\\" in text or bool(Path(text).suffix)
