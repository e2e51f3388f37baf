"""A model of anything that gives nodes vectors or pairs scores: `adapt`.

Who has an embedding or a function of pairs need not write a class to have it evaluated beside the others.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpxgat.errors import GraphError, SettingError, printable, quoted, warn_of_data
from mpxgat.graph import MultiplexGraph, Node, describe
from mpxgat.models.base import EmbeddingModel, Model, Positions, Scores, Vectors
from mpxgat.pairs import PairGrid, row_parts
from mpxgat.training.parallel import Session

_PAIRS_AT_ONCE = 1_000_000  # handed to a function of pairs
_ID_COLUMNS, _LAYER_COLUMN = ("id", "node"), "layer"
_RECIPE = "brought"  # the argument of the models here that is no setting
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}

Embed = Callable[..., Any]
"""``embed(graph)`` gives vectors as `adapt` takes them, or two of them: within layers, across layers."""
Score = Callable[..., ArrayLike]
"""``score(graph, pairs)`` gives (k,) scores of (k, 2) positions; higher is more likely a link."""
Learn = Callable[..., Callable[[NDArray[np.int64]], ArrayLike]]
"""``learn(graph)`` gives a function of pairs that gives their scores."""


def adapt(
    vectors: Any = None,
    *,
    embed: Embed | None = None,
    score: Score | None = None,
    learn: Learn | None = None,
    cosine: bool = False,
    learned_on: MultiplexGraph | None = None,
    name: str | None = None,
    seed: int = 0,
    **settings: Any,
) -> Model:
    """A model that predicts links by an embedding or a function of your own; exactly one of the first four is given.

    embed       ``embed(graph)`` is called with the training graph, so it cannot have seen hidden links, and returns
                vectors: an array (n, d) in the order of ``graph.nodes``, a dictionary {(id, layer): vector}, or a
                DataFrame with the columns id and layer, or an index of the two. A tuple of two such things: the first
                scores pairs within layers, the second pairs of two layers
    score       ``score(graph, pairs)`` gets the training graph and (k, 2) positions of nodes, and returns (k,) scores
    learn       ``learn(graph)`` is called once with the training graph and returns a function of pairs
    vectors     computed elsewhere, in one of these forms: learn them from the training graph of a split only
    learned_on  the graph that ``vectors`` were learned from; the model then refuses to be fitted on other links
    cosine      score by the cosine of two vectors instead of their dot product

    Keyword arguments of the function that have a default are the model's settings; ``settings`` are other defaults. A
    function with the argument ``seed`` is called with the model's. The model is called as its function if no name is
    given. To have it made and loaded by a name: `register_model`, or at the top of a module, ``--model module:name``.

    >>> import mpxgat as mx
    >>> def degrees(graph, power=1.0):
    ...     return (graph.degree[:, None] + 1.0) ** power
    >>> split = mx.splits.marked_nodes(mx.synthetic.social(people=60, layers=2, seed=0), seed=0)
    >>> mx.adapt(embed=degrees, power=0.5).fit(split.train)
    <adapt(embed=degrees, power=0.5) fitted on 82 nodes in 2 layers>
    """
    given = {"vectors": vectors, "embed": embed, "score": score, "learn": learn}
    kinds = [kind for kind, value in given.items() if value is not None]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none"
        raise SettingError(f"adapt got {found} of vectors, embed, score and learn, expected one of them")
    kind = kinds[0]
    if kind in ("score", "learn") and cosine:
        raise SettingError(f"cosine beside {kind}, which gives scores and no vectors; expected none")
    if kind != "vectors" and learned_on is not None:
        raise SettingError(f"learned_on beside {kind}, which is called with the training graph; expected none")
    if kind == "vectors":
        source = _Brought("vectors", given=vectors, learned_on=learned_on, cosine=cosine)
    else:
        source = _Brought.by_function(kind, given[kind], cosine=cosine)
    source = source.with_defaults(settings)
    made = _AdaptedScores if kind in ("score", "learn") else _AdaptedVectors
    model = made(source, seed=seed)
    model.name = name or source.name
    return model


# ---- what was brought ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Brought:
    """A function with the defaults of its settings, or vectors.

    kind        "vectors", "embed", "score" or "learn"
    seeded      whether the function takes a seed
    """

    kind: str
    given: Any
    defaults: Mapping[str, Any] = field(default_factory=dict)
    seeded: bool = False
    learned_on: MultiplexGraph | None = None
    cosine: bool = False

    @classmethod
    def by_function(cls, kind: str, function: Any, *, cosine: bool) -> _Brought:
        """SettingError for something that cannot be called as it is going to be."""
        if not callable(function):
            raise SettingError(f"{kind} is {quoted(function)}, expected a function")
        taken = ("graph", "pairs") if kind == "score" else ("graph",)
        expected = f"expected {kind}({', '.join(taken)}), further arguments with a default"
        try:
            arguments = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # of some written in C nobody knows the arguments
            return cls(kind, function, cosine=cosine)
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        places = [each for each in arguments if each.kind is not inspect.Parameter.KEYWORD_ONLY]
        named = [each for each in arguments if each not in places[: len(taken)] and each.kind not in variable]
        lacking = [each.name for each in named if each.default is inspect.Parameter.empty and each.name != "seed"]
        if len(places) < len(taken) and not any(each.kind is variable[0] for each in places):
            raise SettingError(f"the function {quoted(_called(function))} takes too few arguments, {expected}")
        if lacking:
            raise SettingError(f"the argument {quoted(lacking[0])} of {quoted(_called(function))}, {expected}")
        defaults = {each.name: each.default for each in named if each.name != "seed" and _is_plain(each.default)}
        return cls(kind, function, defaults, any(each.name == "seed" for each in named), cosine=cosine)

    def with_defaults(self, settings: Mapping[str, Any]) -> _Brought:
        """The same with other defaults."""
        return replace(self, defaults=self.settings(settings))

    def settings(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """The defaults, or what was chosen instead; SettingError for a name or a type that does not fit."""
        for name, value in chosen.items():
            if name not in self.defaults:
                raise SettingError(f"no setting {quoted(name)}; known are {', '.join(self.defaults) or 'none'}")
            _check_kind(name, value, self.defaults[name])
        return {**self.defaults, **chosen}

    def call(self, *arguments: Any, seed: int, settings: Mapping[str, Any]) -> Any:
        """The function's result."""
        return self.given(*arguments, **settings, **({"seed": seed} if self.seeded else {}))

    @property
    def name(self) -> str:
        """As the function is called."""
        return "adapted" if self.kind == "vectors" else _called(self.given)

    @property
    def description(self) -> str:
        """The first line of what the function says of itself."""
        if self.kind == "vectors":
            return f"{'cosines' if self.cosine else 'dot products'} of vectors computed elsewhere"
        told = (inspect.getdoc(self.given) or "").strip().partition("\n")[0]
        return told or f"a function of one's own, {self.name}"


def _called(function: Any) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _is_plain(value: Any) -> bool:
    """Whether a value can be kept as a setting; what cannot stays the function's own affair."""
    return value is None or type(value) in _WORDS


def _check_kind(name: str, value: Any, default: Any) -> None:
    """A value of the default's kind; whole numbers are numbers."""
    kind = type(default)
    fits = type(value) is kind or (kind is float and type(value) is int)
    if kind in _WORDS and value is not None and not fits:
        raise SettingError(f"{name} is {quoted(value)}, expected {_WORDS[kind]}")


# ---- the models ----------------------------------------------------------------------------------------------------


class _Adapted(Model):
    """What a function or vectors of one's own are made into. The settings are the function's."""

    reads = frozenset({"direction", "weights", "features"})  # whether the function does, nobody knows

    def __init__(self, brought: _Brought, *, seed: int = 0, **settings: Any):
        super().__init__(seed=seed)
        self._source = brought
        self._chosen = brought.settings(settings)
        self.name, self.description = brought.name, brought.description

    @property
    def recipe(self) -> Mapping[str, Any]:
        """What makes others like it."""
        return {_RECIPE: self._source}

    @property
    def settings(self) -> dict[str, Any]:
        """The function's keyword arguments."""
        return dict(self._chosen)

    @property
    def settings_help(self) -> str:
        """What the function says of itself."""
        return "" if self._source.kind == "vectors" else inspect.getdoc(self._source.given) or ""

    def get_params(self) -> dict[str, Any]:
        """The settings and the seed."""
        return {**self._chosen, "seed": self.seed}

    def __repr__(self) -> str:
        source = self._source
        told = [f"{source.kind}={source.name}"] if source.kind != "vectors" else ["vectors"]
        told += [f"{name}={value!r}" for name, value in self._chosen.items()]
        told += ["cosine=True"] * source.cosine + [f"seed={self.seed}"] * bool(self.seed)
        made, graph = f"adapt({', '.join(told)})", self._graph
        return made if graph is None else f"<{made} fitted on {graph.n_nodes} nodes in {graph.n_layers} layers>"

    def save(self, path: str | PathLike[str]) -> Path:
        """As every model does; SettingError for one that could not be found again by its name."""
        if _RECIPE not in self._fixed:  # then a registered name or a place in a module stands for it
            raise SettingError(
                f"the model {quoted(self.name)} could not be loaded again: give it a name by "
                f"register_model({self.name!r}, ...), and make it by make_model({self.name!r})"
            )
        return super().save(path)

    @abstractmethod
    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        """Ask the function."""


class _AdaptedVectors(_Adapted, EmbeddingModel):
    """Scores by the vectors that a function gives for the training graph, or by fixed ones."""

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        source = self._source
        if source.kind == "vectors":
            _check_learned_on(source.learned_on, graph)
            found = source.given
        else:
            found = source.call(graph, seed=self.seed, settings=self._chosen)
        both = found if isinstance(found, tuple) and len(found) == 2 else (found, found)
        rows = [_rows(each, graph, self.name) for each in both]
        self._horizontal, self._vertical = (_of_length_one(each) if source.cosine else each for each in rows)


class _AdaptedScores(_Adapted):
    """Scores by a function of pairs: one that is given the graph, or one that was learned from it."""

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        self._learned: Any = None
        if self._source.kind == "learn":
            self._learned = self._source.call(graph, seed=self.seed, settings=self._chosen)
            if not callable(self._learned):
                found = type(self._learned).__name__
                raise SettingError(f"{self.name} gave a value of the kind {found}, expected a function of pairs")
        self._trained_on = graph

    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """As pairs, a bounded number at once."""
        scores = np.empty((len(rows), len(cols)))
        for part in row_parts(rows, len(cols), _PAIRS_AT_ONCE):
            grid = PairGrid(rows[part], cols)
            ends = [np.broadcast_to(end, grid.shape).ravel() for end in (grid.first, grid.second)]
            scores[part] = self._scores(np.stack(ends, axis=1).astype(np.int64)).reshape(grid.shape)
        return scores

    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        return self._scores(pairs)

    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        return self._scores(pairs)

    def _scores(self, pairs: NDArray[np.int64]) -> Scores:
        """SettingError unless the function gives a finite number for each pair."""
        if not len(pairs):
            return np.empty(0)
        if self._learned is not None:
            found = self._learned(pairs)
        else:
            found = self._source.call(self._trained_on, pairs, seed=self.seed, settings=self._chosen)
        scores = np.asarray(found)
        if scores.shape != (len(pairs),) or scores.dtype.kind not in "fiub":
            raise SettingError(
                f"{self.name} gave scores of the shape {scores.shape} and the type {scores.dtype}, "
                f"expected {(len(pairs),)} numbers, one for each pair"
            )
        if not np.isfinite(scores).all():
            wrong = pairs[np.flatnonzero(~np.isfinite(scores))[0]]
            raise SettingError(
                f"{self.name} gave a score that is no finite number, the first for the nodes {wrong.tolist()}"
            )
        return scores.astype(np.float64)


def _check_learned_on(learned_on: MultiplexGraph | None, graph: MultiplexGraph) -> None:
    """SettingError if vectors may hold links that this training graph lacks; a warning if nobody knows."""
    if learned_on is None:
        warn_of_data(
            "nothing says what these vectors were learned from; if they saw hidden links, every figure is worthless. "
            "mpxgat.adapt(vectors, learned_on=split.train) says it and refuses other graphs"
        )
    elif (
        learned_on.node_fingerprint() != graph.node_fingerprint()
        or not np.array_equal(learned_on.intra, graph.intra)
        or not np.array_equal(learned_on.inter, graph.inter)
    ):
        raise SettingError(
            f"the vectors were learned on another graph ({learned_on.n_nodes} nodes, {learned_on.n_intra} and "
            f"{learned_on.n_inter} links) than this training graph ({graph.n_nodes} nodes, {graph.n_intra} and "
            f"{graph.n_inter} links), expected the same; adapt(embed=function) learns anew from each"
        )


# ---- vectors in all forms ------------------------------------------------------------------------------------------


def _rows(vectors: Any, graph: MultiplexGraph, name: str) -> Vectors:
    """(n, d) in the order of the graph's nodes; GraphError or SettingError for what does not fit."""
    if isinstance(vectors, Mapping):
        rows = _of_mapping(vectors, graph, name)
    elif all(hasattr(vectors, name) for name in ("columns", "index", "to_numpy")):
        rows = _of_frame(vectors, graph, name)
    else:
        rows = _as_array(vectors, name)
    if rows.ndim != 2 or len(rows) != graph.n_nodes or not rows.shape[1]:
        raise SettingError(
            f"{name} has vectors of the shape {rows.shape}, expected ({graph.n_nodes}, d): a row for each node"
        )
    if not np.isfinite(rows).all():
        node = graph.nodes[int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])]
        raise SettingError(f"{name}: the vector of {describe(node)} holds what is no finite number")
    return rows


def _as_array(values: Any, name: str) -> Vectors:
    """Numbers in single precision."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"values of the type {array.dtype}")
        with np.errstate(over="ignore"):  # what single precision cannot hold is found to be infinite
            return array.astype(np.float32)
    except (TypeError, ValueError, RuntimeError) as problem:  # RuntimeError: torch's, of tensors in training
        raise SettingError(
            f"{name} has vectors that are no array of numbers ({printable(problem, 200)}), expected (n, d)"
        ) from None


def _of_mapping(vectors: Mapping[Any, Any], graph: MultiplexGraph, name: str) -> Vectors:
    lengths = {np.shape(vector) for vector in vectors.values()}
    if len(lengths) > 1 or any(len(shape) != 1 for shape in lengths):
        raise SettingError(f"{name} has vectors of the shapes {printable(sorted(lengths))}, expected one length")
    return _placed(list(vectors), _as_array(list(vectors.values()), name), graph, name)


def _of_frame(frame: Any, graph: MultiplexGraph, name: str) -> Vectors:
    """Of a pandas DataFrame: columns id and layer, an index of the two, or rows in the order of the nodes."""
    ids = next((column for column in _ID_COLUMNS if column in frame.columns), None)
    if ids is not None and _LAYER_COLUMN in frame.columns:
        keys = list(zip(frame[ids], frame[_LAYER_COLUMN], strict=True))
        numbers = frame.drop(columns=[ids, _LAYER_COLUMN])
    elif getattr(frame.index, "nlevels", 1) == 2:
        keys, numbers = list(frame.index), frame
    else:
        if not list(frame.index) == list(range(len(frame))):
            raise SettingError(f"{name}: a DataFrame without {_LAYER_COLUMN} and id, expected them as columns or index")
        return _as_array(frame.to_numpy(), name)
    return _placed(keys, _as_array(numbers.to_numpy(), name), graph, name)


def _placed(keys: list[Any], rows: Vectors, graph: MultiplexGraph, name: str) -> Vectors:
    """Rows by (id, layer) in the order of the nodes: each exactly once, and none that the graph lacks."""
    place = {node: position for position, node in enumerate(graph.nodes)}
    found = np.full(graph.n_nodes, -1)
    for number, key in enumerate(keys):
        if not (isinstance(key, tuple) and len(key) == 2):
            # Copies of a unit often share their id: one vector for all of them would give who is who away.
            raise SettingError(f"{name} has a vector for {quoted(key)}, expected a node as (id, layer)")
        node = Node(str(key[0]), str(key[1]))
        if node not in place:
            raise GraphError(f"{name} has a vector for {describe(node)}, expected nodes of the graph only")
        if found[place[node]] >= 0:
            raise GraphError(f"{name} has two vectors for {describe(node)}, expected one")
        found[place[node]] = number
    lacking = np.flatnonzero(found < 0)
    if len(lacking):
        node = graph.nodes[int(lacking[0])]
        raise GraphError(
            f"{name} has no vector for {len(lacking)} of {graph.n_nodes} nodes, the first is {describe(node)}; "
            "expected one for each (zeros for a node of which nothing is known)"
        )
    return np.asarray(rows[found], dtype=np.float32)


def _of_length_one(rows: Vectors) -> Vectors:
    """Rows of zeros stay as they are."""
    exact = rows.astype(np.float64)
    length = np.linalg.norm(exact, axis=1, keepdims=True)
    return np.asarray(exact / np.where(length > 0, length, 1), dtype=np.float32)
