"""Settings of a model as a frozen dataclass: checked names and types, plain values in and out."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpxgat.errors import GraphError, InputError, SettingError, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.arrays import Arrays, graph_from_arrays, graph_to_arrays, read_arrays, write_arrays
from mpxgat.system import is_out_of_memory
from mpxgat.training.parallel import Session

if TYPE_CHECKING:  # models that do not train must not wait for torch
    from mpxgat.training.links import Stream
    from mpxgat.training.loop import Outcome

_BEYOND_WHOLE = 2**63  # of 64 bits, with which everything computes
AUTO, FULL = "auto", "full"  # what ``batch`` may be beside a number
_WORDS = {"int": "a whole number", "float": "a number", "str": "a text"}


@dataclass(frozen=True)
class Settings:
    """Base of settings classes. Fields are ``int``, ``float`` or ``str``, each with a default, or one of them or None,
    or several of them.

    A class checks ranges in its ``__post_init__``.
    """

    @classmethod
    def of(cls, /, **settings: Any) -> Self:
        """Settings by name; SettingError for a name or a type that does not fit."""
        kinds = {field.name: str(field.type) for field in fields(cls)}
        for name, value in settings.items():
            if name not in kinds:
                raise SettingError(f"no setting {quoted(name)}; known are {', '.join(kinds)}")
            _check_type(name, value, kinds[name])
        return cls(**settings)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def check_at_least(self, least: float, *names: str) -> None:
        """SettingError for the first of these that is smaller (or no number at all)."""
        for name in names:
            value = getattr(self, name)
            if not value >= least:
                raise SettingError(f"{name} is {value}, expected at least {least}")

    def check_share(self, *names: str) -> None:
        """SettingError for the first of these that is not at least 0 and less than 1."""
        for name in names:
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise SettingError(f"{name} is {value}, expected at least 0 and less than 1")


def _check_type(name: str, value: Any, kind: str) -> None:
    """An int of 64 bits where an int is expected (not a bool), a number where a float is, a text where a text is."""
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _BEYOND_WHOLE
    fits = {
        "int": whole,
        "float": whole or isinstance(value, float),
        "str": isinstance(value, str),
        "None": value is None,
    }
    kinds = kind.split(" | ")
    if not any(fits[each] for each in kinds):
        expected = " or ".join(_WORDS[each] for each in kinds if each in _WORDS)
        raise SettingError(f"{name} is {quoted(value)}, expected {expected}")


def check_batch(batch: int | str) -> None:
    """SettingError unless it is auto, full or a whole number of at least 1."""
    if batch not in (AUTO, FULL) and (isinstance(batch, str) or batch < 1):
        raise SettingError(f"batch is {quoted(batch)}, expected auto, full or a whole number of at least 1")


# What every model can do: fit on a graph, score pairs of its nodes, be saved and loaded.


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

    def embeddings(self) -> tuple[Vectors, Vectors]:
        """(n, d) horizontal and (n, e) vertical vectors of the nodes; SettingError if the model learns none."""
        raise SettingError(f"the model {self.name!r} has no embeddings, expected a run of one that learns them")

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


# Models that give every node two vectors; dot products of them are the scores.


_PAIRS_AT_ONCE = 1 << 16
Vectors = NDArray[np.float32]


class EmbeddingModel(Model):
    """Scores intra pairs by horizontal vectors and inter pairs by vertical ones."""

    _horizontal: Vectors | None = None
    _vertical: Vectors | None = None

    @property
    def horizontal(self) -> Vectors:
        """(n, d) where every node stands within its layer, aligned with ``graph.nodes``."""
        return self._fitted(self._horizontal)

    @property
    def vertical(self) -> Vectors:
        """(n, d) where every node stands across layers, aligned with ``graph.nodes``."""
        return self._fitted(self._vertical)

    def embeddings(self) -> tuple[Vectors, Vectors]:
        """Both, aligned with ``graph.nodes``."""
        return self.horizontal, self.vertical

    def restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> Self:
        """As every model does; GraphError unless there is a row of finite numbers for each node."""
        super().restore(graph, state, notes)
        for vectors in (self.horizontal, self.vertical):
            if vectors.ndim != 2 or len(vectors) != graph.n_nodes or not np.isfinite(vectors).all():
                raise GraphError(f"vectors of the shape {vectors.shape}, expected finite ones, one for each node")
        return self

    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """One matrix product."""
        vectors = self.horizontal if self._is_intra(rows, cols) else self.vertical
        return vectors[rows].astype(np.float64) @ vectors[cols].astype(np.float64).T

    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        return _dots(self.horizontal, pairs)

    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        return _dots(self.vertical, pairs)

    def _fitted(self, vectors: Vectors | None) -> Vectors:
        _ = self.graph  # says so if the model is not fitted
        assert vectors is not None
        return vectors


def _dots(vectors: Vectors, pairs: NDArray[np.int64]) -> Scores:
    scores = np.empty(len(pairs), dtype=np.float64)
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        first, second = pairs[start : start + _PAIRS_AT_ONCE].T
        scores[start : start + _PAIRS_AT_ONCE] = np.einsum(
            "ij,ij->i", vectors[first].astype(np.float64), vectors[second].astype(np.float64)
        )
    return scores


# Models whose two vectors for every node come out of one training.


class TrainedEmbedding(EmbeddingModel):
    """Keeps settings and how the training went; a model trains in `_learn` and sets ``_outcome``."""

    _part: ClassVar[str]  # what the training is called, in progress bars and records
    _settings: Settings
    _outcome: Outcome | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, defaults included."""
        return self._settings.to_dict()

    @property
    def history(self) -> dict[str, list[dict[str, float]]]:
        """A row for each validation: epoch, loss, validation AUC, further readings of the model."""
        return {self._part: self._trained.history}

    def training_summary(self) -> dict[str, Any]:
        """Epochs run, best epoch and its validation AUC."""
        outcome = self._trained
        numbers = {"epochs": outcome.epochs, "best_epoch": outcome.best_epoch, "best": outcome.best_value}
        return {"parts": {self._part: numbers}}

    def _stream(self, purpose: int) -> Stream:
        """The random numbers for a purpose."""
        from mpxgat.training.links import Stream

        return Stream((self.seed, 0, purpose))

    def _notes(self) -> dict[str, Any]:
        return {"outcome": asdict(self._trained)}

    @property
    def _trained(self) -> Outcome:
        _ = self.graph  # says so if the model is not fitted
        assert self._outcome is not None
        return self._outcome


# Models by name. A model's module is imported when it is asked for, so that rules of thumb need no torch.


_PLACES = {
    "auto": "auto:Auto",
    "evidence": "evidence.model:Evidence",
    "anchored": "anchored:Anchored",
    "mpxgat": "mpxgat:MPXGAT",
    "mpxgat-random": "mpxgat:MPXGATRandom",
    "gat": "mpxgat:GAT",
    "graphsage": "sage:GraphSAGE",
    "multiplexsage": "sage:MultiplexSAGE",
    "gatne": "gatne:GATNE",
    "rules": "rules:Rules",
    "closure": "rules:Closure",
    "exclusion": "rules:Exclusion",
    "matched-neighbours": "rules:MatchedNeighbours",
    "common-neighbours": "rules:CommonNeighbours",
    "adamic-adar": "rules:AdamicAdar",
    "degree": "rules:Degree",
}


def model_names() -> tuple[str, ...]:
    """The names of all models."""
    return tuple(_PLACES)


def model_class(name: str) -> type[Model]:
    """The class of that name, or the one at ``package.module:Class``; SettingError if there is none."""
    if ":" in name:
        return _own_class(name)
    if name not in _PLACES:
        near = difflib.get_close_matches(name, _PLACES, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise SettingError(f"no model {quoted(name)}; {hint}known are {', '.join(_PLACES)}")
    module, _, attribute = _PLACES[name].partition(":")
    found: type[Model] = getattr(import_module(f"mpxgat.models.{module}"), attribute)
    return found


def _own_class(name: str) -> type[Model]:
    """A user's class, which is called by where it is from then on: a file that it saves says where to find it."""
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as problem:
        raise SettingError(f"no model {quoted(name)}: {printable(problem, 200)}") from None
    if not (isinstance(found, type) and issubclass(found, Model)):
        raise SettingError(f"{quoted(name)} is no model, expected a subclass of mpxgat.models.Model")
    found.name = name
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
