"""What every model is and can do, how models are found by name, and how they are loaded.

A model is one step below `Model`, or below `EmbeddingModel` if it scores pairs by the dot products of two vectors for
each node. Whatever the rest of the package asks of a model is a method here.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from mpxgat.errors import GraphError, InputError, SettingError, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.arrays import Arrays, graph_from_arrays, graph_to_arrays, read_arrays, write_arrays
from mpxgat.pairs import PairGrid, PairList, found_among, pair_keys
from mpxgat.system import is_out_of_memory
from mpxgat.tabular import Tabular, html_fields, html_of
from mpxgat.training.parallel import Session

if TYPE_CHECKING:  # models that do not train must not wait for torch
    from torch import Tensor

    from mpxgat.models.link_curve import LinkCurve
    from mpxgat.nn.attention import Neighbourhood
    from mpxgat.training.links import Stream
    from mpxgat.training.loop import Outcome

KIND = "mpxgat-model-2"
GRAPH, STATE = "graph.", "state."  # prefixes of the arrays in a saved model
_CURVE = "link_curve."  # of those in the state that make probabilities within layers
AUTO, FULL = "auto", "full"  # what the setting ``batch`` may be beside a number
_OPEN_PAIRS = 200_000  # whose scores are compared with those of hidden links: a matter of a second
_CALIBRATION = 1_000_000  # purpose of random numbers, which no model has for its own
_BEYOND_WHOLE = 2**63  # of 64 bits, with which everything computes
_WORDS = {"int": "a whole number", "float": "a number", "str": "a text"}

Scores = NDArray[np.float64]
Positions = NDArray[np.integer[Any]]
Vectors = NDArray[np.float32]


class History(dict[str, list[dict[str, float]]], Tabular):
    """For every network trained, by its name, a row for each validation."""

    def to_table(self) -> pa.Table:
        """Columns part, epoch, loss, validation, and further readings; null where a part has no such reading."""
        rows = [{"part": part, **row} for part, rows in self.items() for row in rows]
        names = dict.fromkeys(name for row in rows for name in row)
        return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})

    def _repr_html_(self) -> str:
        return html_of(self.to_table(), f"{len(self):,} networks trained" if self else "no network trained")


# ---- settings ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """Settings of a model: checked names and types, plain values in and out. The base has none.

    Fields are ``int``, ``float`` or ``str``, each with a default, or one of them or None, or several of them. A class
    checks ranges in its ``__post_init__``.
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

    @classmethod
    def among(cls, arguments: Mapping[str, Any]) -> Self:
        """Those of a constructor's arguments (its ``locals()``) that are settings."""
        return cls.of(**{field.name: arguments[field.name] for field in fields(cls)})

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

    def check_choice(self, name: str, *choices: str) -> None:
        """SettingError if a text is none of the choices."""
        if getattr(self, name) not in choices:
            raise SettingError(f"{name} is {quoted(getattr(self, name))}, expected {' or '.join(choices)}")

    def check_batch(self, name: str = "batch") -> None:
        """SettingError unless it is auto, full or a whole number of at least 1."""
        batch = getattr(self, name)
        if batch not in (AUTO, FULL) and (isinstance(batch, str) or batch < 1):
            raise SettingError(f"{name} is {quoted(batch)}, expected auto, full or a whole number of at least 1")


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


# ---- models --------------------------------------------------------------------------------------------------------


class Model(ABC):
    """A predictor of links of both kinds. It sees one graph, in `fit`, and nothing else.

    A score orders pairs of one kind (higher: more likely a link); scores of intra and inter pairs are not
    compared with each other. Models read links, their direction and weights, and features; attributes only where a
    setting names them; ids never (but `extend` of some models knows the nodes of the fitted graph again by id and
    layer). They do not print, plot or save by themselves.

    A class has a ``name``, a ``description`` and keyword arguments; it sets ``_settings`` where it has settings.
    """

    name: str
    description: str
    reads: ClassVar[frozenset[str]] = frozenset()  # of "direction", "weights" and "features"
    named_settings: ClassVar[tuple[str, ...]] = ()  # those whose value is a "package.module:Name"
    _settings: Settings = Settings()
    _fixed: Mapping[str, Any] = MappingProxyType({})  # settings that the registered name stands for

    def __init__(self, *, seed: int = 0):
        if not isinstance(seed, int) or seed < 0:
            raise SettingError(f"seed is {seed}, expected a whole number of at least 0")
        self.seed = seed
        self._graph: MultiplexGraph | None = None
        self._link_curve: LinkCurve | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The settings the model was made with, defaults included, as plain values; without the seed."""
        return {name: value for name, value in self._settings.to_dict().items() if name not in self._fixed}

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Arguments that make others like this one, where an object is named instead of a class; see `adapt`."""
        return {}

    def get_params(self) -> dict[str, Any]:
        """All arguments of the constructor: the settings and the seed."""
        return {**asdict(self._settings), "seed": self.seed}

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        told = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if name not in defaults or value != defaults[name].default
        ]
        made = f"{type(self).__name__}({', '.join(told)})"
        graph = self._graph
        return made if graph is None else f"<{made} fitted on {graph.n_nodes} nodes in {graph.n_layers} layers>"

    def _repr_html_(self) -> str:
        tried = {} if self._graph is None else {f"validation AUC of {name}": auc for name, auc in self.trials.items()}
        return html_fields(repr(self), {**self.settings, "seed": self.seed, **tried})

    @property
    def graph(self) -> MultiplexGraph:
        """The graph the model was fitted on; SettingError before `fit`."""
        if self._graph is None:
            raise SettingError(f"the model {self.name!r} is not fitted yet; call fit(graph) first")
        return self._graph

    def unread(self, graph: MultiplexGraph) -> list[str]:
        """What a graph has and this model does not read: direction, weights, features."""
        there = {
            "direction": graph.intra_arcs is not None,
            "weights": graph.intra_weight is not None or graph.inter_weight is not None,
            "features": graph.horizontal_features is not None or graph.vertical_features is not None,
        }
        return [name for name, is_there in there.items() if is_there and name not in self.reads]

    def fit(self, graph: MultiplexGraph, session: Session | None = None, *, progress: bool = False) -> Self:
        """Learn from a graph; returns the model itself. A session brings checkpoints, reports and processes.

        ``progress`` shows a bar, in a terminal or a notebook; it takes the place of a session's reports.
        """
        session = session or Session()
        self._link_curve = None
        if progress:
            from mpxgat.training.progress import watching

            with watching() as watch:
                self._learn(graph, replace(session, report=watch, stage=watch.stage))
        else:
            self._learn(graph, session)
        self._graph = graph
        return self

    def score(self, pairs: ArrayLike) -> Scores:
        """(k,) scores of (k, 2) pairs of node positions; the nodes' layers tell intra from inter pairs."""
        ends = self._checked_pairs(pairs)
        same_layer = self._same_layer(ends)
        scores = np.empty(len(ends), dtype=np.float64)
        scores[same_layer] = self._score_intra(ends[same_layer])
        scores[~same_layer] = self._score_inter(ends[~same_layer])
        return scores

    @property
    def link_curve(self) -> LinkCurve | None:
        """From scores within layers to probabilities; None if the model has none, or too few links to learn it."""
        _ = self.graph  # says so if the model is not fitted
        return self._link_curve

    def link_probability(
        self, pairs: ArrayLike, score: Scores | None = None, *, missing: float | None = None
    ) -> Scores:
        """(k,) the chance that each of (k, 2) pairs of nodes is a link that the graph lacks; see `link_curve`.

        score       what `score` gives for the pairs, if it is at hand
        missing     the share of links assumed to be missing within layers; None: as many as the protocols hide

        NaN for a pair that is known: a link, or two nodes of one unit; and where the model has no probabilities.
        """
        ends = self._checked_pairs(pairs)
        scores = self.score(ends) if score is None else score
        same_layer = self._same_layer(ends)
        found = np.full(len(ends), np.nan)
        if self.link_curve is not None:
            share = {} if missing is None else {"missing": missing}
            found[same_layer] = self.link_curve.apply(scores[same_layer], **share)
        found[~same_layer] = self._inter_probability(ends[~same_layer])
        known = found_among(pair_keys(ends, self.graph.n_nodes), pair_keys(self.graph.intra, self.graph.n_nodes))
        found[known | (self.graph.unit[ends[:, 0]] == self.graph.unit[ends[:, 1]])] = np.nan
        return found

    @abstractmethod
    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """(r, c) scores of all pairs of ``rows``, nodes of one layer, with ``cols``, nodes of one layer.

        Entry for entry what `score` gives, but for rounding in the last digits.
        """

    def embeddings(self) -> tuple[Vectors, Vectors]:
        """Horizontal and vertical vectors of every node, (n, d) each; SettingError if the model has none."""
        raise SettingError(f"the model {self.name!r} has no vectors of nodes")

    @property
    def embedding(self) -> EmbeddingModel | None:
        """The model that gives nodes their vectors: this one, or a part of it; None if there is none."""
        return None

    @property
    def chosen(self) -> Model:
        """The model that scores: this one, or the one that it chose."""
        return self

    @property
    def trials(self) -> dict[str, float]:
        """Validation AUC by name of what a model chose from; empty where nothing was chosen."""
        return {}

    def attention_by_part(self) -> Iterator[tuple[str, Neighbourhood, tuple[Tensor, ...]]]:
        """For each network trained that has attention: its label, who hears whom, and the weights of every block, (E,
        heads) each.
        """
        return iter(())

    @property
    def history(self) -> History:
        """For every network trained, a row for each validation: epoch, loss, validation AUC, further readings."""
        return History()

    def training_summary(self) -> dict[str, Any]:
        """How training went, as plain values for a record; empty where nothing is trained."""
        return {}

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the fitted model with its graph to one file; `mpxgat.models.load_model` reads it."""
        header = {"model": self.name, "seed": self.seed, "settings": self.settings, "notes": self._notes()}
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

    # ---- what a model implements -----------------------------------------------------------------------

    @abstractmethod
    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        """Fit to the graph."""

    @abstractmethod
    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        """Scores of pairs within a layer."""

    @abstractmethod
    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        """Scores of pairs of different layers."""

    def _inter_probability(self, pairs: NDArray[np.int64]) -> Scores:
        """Probabilities of pairs of different layers; NaN without any."""
        return np.full(len(pairs), np.nan)

    def _state(self) -> Arrays:
        """What has been learned, as named arrays."""
        return {}

    def _notes(self) -> dict[str, Any]:
        """What should be kept besides: plain values."""
        return {}

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        """Take back what `_state` and `_notes` gave; a model without state learns again."""
        self._learn(graph, Session())

    def _curve_arrays(self) -> Arrays:
        """The curve of probabilities within layers, to be saved; none if there is none."""
        curve = self._link_curve
        return {} if curve is None else {_CURVE + name: array for name, array in curve.to_arrays().items()}

    def _restore_curve(self, state: Arrays) -> None:
        """What `_curve_arrays` gave; SettingError if it is damaged."""
        parts = {name.removeprefix(_CURVE): array for name, array in state.items() if name.startswith(_CURVE)}
        if parts:
            from mpxgat.models.link_curve import LinkCurve  # not before there is one

            self._link_curve = LinkCurve.from_arrays(parts)

    def _checked_pairs(self, pairs: ArrayLike) -> NDArray[np.int64]:
        """(k, 2) positions; SettingError for one that no node has."""
        ends = np.asarray(pairs).reshape(-1, 2)
        if len(ends) and not 0 <= ends.min() <= ends.max() < self.graph.n_nodes:
            wrong = ends.min() if ends.min() < 0 else ends.max()
            raise SettingError(f"a pair names node {wrong}, expected 0 to {self.graph.n_nodes - 1}")
        return ends.astype(np.int64)

    def _same_layer(self, ends: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(k,) which pairs lie within a layer."""
        layer = self.graph.node_layer[ends]
        return np.asarray(layer[:, 0] == layer[:, 1])

    def _is_intra(self, rows: Positions, cols: Positions) -> bool:
        """Whether a block lies within a layer."""
        if not len(rows) or not len(cols):
            return True
        return bool(self.graph.node_layer[rows[0]] == self.graph.node_layer[cols[0]])


class EmbeddingModel(Model):
    """Scores intra pairs by horizontal vectors and inter pairs by vertical ones.

    `_learn` sets ``_horizontal``, ``_vertical`` and, for every network trained, ``_outcomes[label]``.
    """

    _horizontal: Vectors | None = None
    _vertical: Vectors | None = None

    def __init__(self, *, seed: int = 0):
        super().__init__(seed=seed)
        self._outcomes: dict[str, Outcome] = {}

    @property
    def horizontal(self) -> Vectors:
        """(n, d) where every node stands within its layer, aligned with ``graph.nodes``."""
        return self._fitted(self._horizontal)

    @property
    def vertical(self) -> Vectors:
        """(n, d) where every node stands across layers, aligned with ``graph.nodes``."""
        return self._fitted(self._vertical)

    def embeddings(self) -> tuple[Vectors, Vectors]:
        """`horizontal` and `vertical`."""
        return self.horizontal, self.vertical

    @property
    def embedding(self) -> EmbeddingModel:
        """The model itself."""
        return self

    @property
    def history(self) -> History:
        """A row for each validation: epoch, loss, validation AUC, further readings of the model."""
        _ = self.graph
        return History({label: outcome.history for label, outcome in self._outcomes.items()})

    def training_summary(self) -> dict[str, Any]:
        """Epochs run, best epoch and its validation AUC for every network trained."""
        _ = self.graph
        return {
            "parts": {
                label: {"epochs": outcome.epochs, "best_epoch": outcome.best_epoch, "best": outcome.best_value}
                for label, outcome in self._outcomes.items()
            }
        }

    def restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> Self:
        """As every model does; GraphError unless there is a row of finite numbers for each node."""
        from mpxgat.training.loop import Outcome

        super().restore(graph, state, notes)
        self._outcomes = {label: Outcome.read(outcome) for label, outcome in notes["outcomes"].items()}
        check_vectors(graph, self.horizontal, self.vertical)
        return self

    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """One matrix product."""
        return PairGrid(rows, cols).dots(self.horizontal if self._is_intra(rows, cols) else self.vertical)

    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        return PairList(pairs).dots(self.horizontal)

    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        return PairList(pairs).dots(self.vertical)

    def _state(self) -> Arrays:
        return {"horizontal": self.horizontal, "vertical": self.vertical, **self._curve_arrays()}

    def _notes(self) -> dict[str, Any]:
        return {"outcomes": {label: asdict(outcome) for label, outcome in self._outcomes.items()}}

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        self._horizontal, self._vertical = state["horizontal"], state["vertical"]
        self._restore_curve(state)

    def _calibrate(self, graph: MultiplexGraph, vectors: Vectors, hidden: Scores) -> None:
        """Learn `link_curve` from scores of links that the model had not learned from, and ``vectors`` (n, d) of the
        graph's nodes.
        """
        if not len(hidden):
            return
        from mpxgat.models.link_curve import LinkCurve
        from mpxgat.models.open_pairs import open_sample

        sample = open_sample(graph, _OPEN_PAIRS, np.random.default_rng((self.seed, 0, _CALIBRATION)))
        scores = PairList(sample.pairs).dots(vectors)
        self._link_curve = LinkCurve.fit(hidden, scores, sample.weight, len(graph.intra))

    def _stream(self, purpose: int) -> Stream:
        """The random numbers for a purpose."""
        from mpxgat.training.links import Stream

        return Stream((self.seed, 0, purpose))

    def _fitted(self, vectors: Vectors | None) -> Vectors:
        _ = self.graph  # says so if the model is not fitted
        assert vectors is not None
        return vectors


def check_vectors(graph: MultiplexGraph, *several: Vectors) -> None:
    """GraphError unless there is a row of finite numbers for each node."""
    for vectors in several:
        if vectors.ndim != 2 or len(vectors) != graph.n_nodes or not np.isfinite(vectors).all():
            raise GraphError(f"vectors of the shape {vectors.shape}, expected finite ones, one for each node")


# ---- models by name ------------------------------------------------------------------------------------------------


class Registered(NamedTuple):
    """Where a model's class is ("module:Class" below `mpxgat.models`, or itself), and settings its name stands for."""

    place: str | type[Model]
    settings: Mapping[str, Any] = MappingProxyType({})
    description: str | None = None  # None: the class's own


# A module is imported when a model is asked for, so that rules of thumb need no torch.
_REGISTERED: dict[str, Registered] = {
    "auto": Registered("auto:Auto"),
    "evidence": Registered("evidence.model:Evidence"),
    "anchored": Registered("anchored:Anchored"),
    "mpxgat": Registered("mpxgat:MPXGAT"),
    "mpxgat-random": Registered(
        "mpxgat:MPXGAT",
        {"horizontal": "random"},
        "the paper's second ablation: random in place of trained horizontal embeddings",
    ),
    "gat": Registered("mpxgat:MPXGAT", {"vertical": "gat"}, "the paper's first ablation: plain GAT in place of GAT-V"),
    "graphsage": Registered("sage:GraphSAGE"),
    "multiplexsage": Registered(
        "sage:GraphSAGE", {"links": "separate"}, "GraphSAGE with separate means over intra and inter links"
    ),
    "gatne": Registered("gatne:GATNE"),
    "isorank": Registered("alignment:IsoRank"),
    "final": Registered("alignment:FINAL"),
    "parrot": Registered("parrot:PARROT"),
    "rules": Registered("rules:Rules"),
    "closure": Registered("rules:Closure"),
    "exclusion": Registered("rules:Exclusion"),
    "matched-neighbours": Registered("rules:MatchedNeighbours"),
    "common-neighbours": Registered("rules:CommonNeighbours"),
    "adamic-adar": Registered("rules:AdamicAdar"),
    "degree": Registered("rules:Degree"),
}


def model_names() -> tuple[str, ...]:
    """The names of all registered models."""
    return tuple(_REGISTERED)


def register_model(name: str, model: type[Model] | Model) -> None:
    """Let a class of one's own, or what `adapt` gives, be made, evaluated and loaded by a name, as ours are.

    SettingError if the name is taken by another model, or if it is none.
    """
    brought, taken = _as_registered(model, quoted(model)), _REGISTERED.get(name)
    if ":" in name or (taken is not None and taken[:2] != brought[:2]):
        raise SettingError(f"the name {quoted(name)} is taken, expected one that no model has, without a colon")
    _REGISTERED[name] = brought


def model_class(name: str) -> type[Model]:
    """The class of a registered name, or of "package.module:Class", which is imported.

    SettingError, with a near name, if there is none.
    """
    return _registered(name)[0]


def make_model(name: str, /, *, seed: int = 0, **settings: Any) -> Model:
    """A new, unfitted model; SettingError for an unknown name or a setting that does not fit."""
    cls, registered = _registered(name)
    arguments = inspect.signature(cls).parameters.values()
    told = registered.description or getattr(cls, "description", None)
    description = _check_can_be_made(name, cls, {**registered.settings, **settings}, told)
    known = [each.name for each in arguments if each.name not in ("seed", *registered.settings)]
    if not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in arguments):  # such a class checks by itself
        for setting in settings:
            if setting not in known:
                raise SettingError(f"no setting {quoted(setting)}; known are {', '.join(known) or 'none'}")
    model = cls(seed=seed, **registered.settings, **settings)
    model.name, model._fixed = name, dict(registered.settings)  # a proxy cannot be sent to a worker
    model.description = description
    return model


def load_model(path: str | PathLike[str]) -> Model:
    """A fitted model that `Model.save` wrote; InputError if the file is damaged or something else.

    A model of one's own, or one with functions of one's own, is loaded only when their modules have been imported
    before: no file decides what is imported.
    """
    path = Path(path)
    header, arrays = read_arrays(path, KIND)
    graph_arrays = {name.removeprefix(GRAPH): array for name, array in arrays.items() if name.startswith(GRAPH)}
    state = {name.removeprefix(STATE): array for name, array in arrays.items() if name.startswith(STATE)}
    with damage_told(path):
        check_imported(header["model"])
        for name in model_class(header["model"]).named_settings:
            check_imported(header["settings"].get(name))
        model = make_model(header["model"], seed=header["seed"], **header["settings"])
        return model.restore(graph_from_arrays(graph_arrays), state, header["notes"])


@contextmanager
def damage_told(path: Path | None = None) -> Iterator[None]:
    """InputError for what goes wrong where a saved model is read: at once, or later what only some questions need."""
    try:
        yield
    except (GraphError, SettingError) as problem:
        raise InputError(str(problem), path) from None
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as problem:
        if is_out_of_memory(problem):
            raise
        raise InputError(f"a damaged model file ({printable(problem)})", path) from None


# ---- what is named "package.module:Name" ---------------------------------------------------------------------------


def check_imported(named: Any) -> None:
    """SettingError if a text from a file names something in a module that is not imported yet."""
    if isinstance(named, str) and ":" in named and named.partition(":")[0] not in sys.modules:
        module = named.partition(":")[0]
        raise SettingError(
            f"{quoted(named)} is not imported; import {printable(module)} first if you trust it "
            f"(mpxgat --import {printable(module)} ...)"
        )


def importable_name(thing: Any) -> str:
    """How a class or function is named "package.module:Name"; SettingError if it cannot be found again by that."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if module in (None, "__main__") or getattr(sys.modules.get(str(module)), str(name), None) is not thing:
        raise SettingError(f"{printable(thing)} cannot be found by name, expected it at the top of a module of its own")
    return f"{module}:{name}"


def import_named(named: str) -> Any:
    """What "package.module:Name" names; SettingError if there is no such thing."""
    module, _, name = named.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as problem:
        raise SettingError(
            f"cannot import {quoted(named)} ({printable(problem)}), expected package.module:Name"
        ) from None


def _as_registered(model: Any, called: str) -> Registered:
    """How a class, or what `adapt` gives, stands among the models; SettingError if it is none."""
    if isinstance(model, type) and issubclass(model, Model):
        return Registered(model)
    if isinstance(model, Model) and model.recipe:
        return Registered(type(model), model.recipe, model.description)
    is_function = callable(model) and not isinstance(model, type)
    hint = "; a function becomes one by mpxgat.adapt(embed=...) or mpxgat.adapt(score=...)" if is_function else ""
    raise SettingError(
        f"{called} is no model, expected a subclass of mpxgat.models.Model or what mpxgat.adapt gives{hint}"
    )


def _check_can_be_made(name: str, cls: type[Model], given: Mapping[str, Any], description: object) -> str:
    """The description; SettingError for a class of one's own that lacks what is asked of every model.

    given       arguments of its constructor, but for the seed
    """
    lacking = sorted(getattr(cls, "__abstractmethods__", ()))
    if lacking:
        raise SettingError(f"{quoted(name)} lacks {', '.join(lacking)}, expected all methods that a model implements")
    if not isinstance(description, str):
        raise SettingError(f"{quoted(name)} has no description, expected a text: description = ...")
    arguments = inspect.signature(cls).parameters
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if "seed" not in arguments and not any(each.kind is variable[1] for each in arguments.values()):
        raise SettingError(f"{quoted(name)} takes no seed, expected the argument seed: int = 0")
    for argument in arguments.values():
        needed = argument.default is inspect.Parameter.empty and argument.kind not in variable
        if needed and argument.name not in {"seed", *given}:
            raise SettingError(f"{quoted(name)} needs {quoted(argument.name)}, expected a default for every setting")
    return description


def _registered(name: str) -> tuple[type[Model], Registered]:
    if name not in _REGISTERED and ":" in name:
        registered = _as_registered(import_named(name), quoted(name))
    elif name not in _REGISTERED:
        near = difflib.get_close_matches(name, _REGISTERED, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        known = ", ".join(_REGISTERED)
        raise SettingError(f"no model {quoted(name)}; {hint}known are {known}, or package.module:Class of your own")
    else:
        registered = _REGISTERED[name]
    if isinstance(registered.place, type):
        return registered.place, registered
    module, _, attribute = registered.place.partition(":")
    found_class: type[Model] = getattr(import_module(f"mpxgat.models.{module}"), attribute)
    return found_class, registered
