"""What every model can do: fit on a graph, score pairs of its nodes, be saved and loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpxgat.arrays import Arrays, graph_to_arrays
from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.array_files import write_arrays
from mpxgat.training.session import Session

KIND = "mpxgat-model-1"
GRAPH, STATE = "graph.", "state."  # how the parts of a saved model are told apart

Scores = NDArray[np.float64]
Positions = NDArray[np.integer[Any]]


class Model(ABC):
    """A predictor of links of both kinds. It sees one graph, in `fit`, and nothing else.

    A score orders pairs of one kind (higher: more likely a link); scores of intra and inter pairs are not
    compared with each other. Models read links, weights and features, never ids or attributes (`extend` of some
    models knows the nodes of the fitted graph again by id and layer), and do not print, plot or save by themselves.
    """

    name: ClassVar[str]
    description: ClassVar[str]

    def __init__(self, /, *, seed: int = 0, **settings: Any):
        if settings:
            raise SettingError(f"the model {self.name!r} has no setting {quoted(next(iter(settings)))}")
        if seed < 0:
            raise SettingError(f"seed is {seed}, expected a whole number of at least 0")
        self.seed = seed
        self._graph: MultiplexGraph | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The settings the model was made with, as plain values; without the seed."""
        return {}

    @property
    def graph(self) -> MultiplexGraph:
        """The graph the model was fitted on; SettingError before `fit`."""
        if self._graph is None:
            raise SettingError(f"the model {self.name!r} is not fitted yet; call fit(graph) first")
        return self._graph

    def fit(self, graph: MultiplexGraph, session: Session | None = None) -> Self:
        """Learn from a graph; returns the model itself. A session brings checkpoints, progress and processes."""
        self._learn(graph, session or Session())
        self._graph = graph
        return self

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the fitted model with its graph to one file; `mpxgat.models.load_model` reads it."""
        header = {
            "model": self.name,
            "seed": self.seed,
            "settings": self.settings,
            "notes": self._notes(),
        }
        arrays = {GRAPH + name: array for name, array in graph_to_arrays(self.graph).items()}
        arrays |= {STATE + name: array for name, array in self._state().items()}
        write_arrays(Path(path), KIND, header, arrays)
        return Path(path)

    def restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> Self:
        """Become the fitted model that `save` wrote."""
        if not isinstance(notes, Mapping):
            raise TypeError(f"notes of the kind {type(notes).__name__}, expected names and values")
        self._restore(graph, state, notes)
        self._graph = graph
        return self

    def score(self, pairs: ArrayLike) -> Scores:
        """(k,) scores of (k, 2) pairs of node positions; the nodes' layers tell intra from inter pairs."""
        ends = np.asarray(pairs).reshape(-1, 2)
        if len(ends) and not 0 <= ends.min() <= ends.max() < self.graph.n_nodes:
            wrong = ends.min() if ends.min() < 0 else ends.max()
            raise SettingError(f"a pair names node {wrong}, expected 0 to {self.graph.n_nodes - 1}")
        ends = ends.astype(np.int64)
        layer = self.graph.node_layer[ends]
        same_layer = layer[:, 0] == layer[:, 1]
        scores = np.empty(len(ends), dtype=np.float64)
        scores[same_layer] = self._score_intra(ends[same_layer])
        scores[~same_layer] = self._score_inter(ends[~same_layer])
        return scores

    def training_summary(self) -> dict[str, Any]:
        """How training went, as plain values for a record; empty where nothing is trained."""
        return {}

    @abstractmethod
    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """(r, c) scores of all pairs of ``rows``, nodes of one layer, with ``cols``, nodes of one layer.

        Entry for entry what `score` gives, but for rounding in the last digits.
        """

    @abstractmethod
    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        """Fit to the graph."""

    def _state(self) -> Arrays:
        """What has been learned, as named arrays."""
        return {}

    def _notes(self) -> dict[str, Any]:
        """What should be kept besides: plain values."""
        return {}

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        """Take back what `_state` and `_notes` gave; a model without state learns again."""
        self._learn(graph, Session())

    @abstractmethod
    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        """Scores of pairs within a layer."""

    @abstractmethod
    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        """Scores of pairs of different layers."""

    def _is_intra(self, rows: Positions, cols: Positions) -> bool:
        """Whether a block lies within a layer."""
        if not len(rows) or not len(cols):
            return True
        return bool(self.graph.node_layer[rows[0]] == self.graph.node_layer[cols[0]])
