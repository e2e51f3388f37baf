"""What every model must do, as checks that can be run on any: `mpxgat check-model` and our own tests use them.

>>> from functools import partial
>>> from mpxgat.models import make_model
>>> [check.name for check in check_model(partial(make_model, "rules")) if check.problem]
[]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat import io, splits
from mpxgat.build import EdgeTable, build
from mpxgat.errors import SettingError, printable
from mpxgat.graph import MultiplexGraph
from mpxgat.metrics import auc
from mpxgat.models.base import Model, load_model

Make = Callable[..., Model]
"""Makes an unfitted model, with the seed and further settings it is given by name."""
_EXACT, _LEARNED = 1e-9, 0.15  # how much the order of nodes may move an AUC; a short training scatters by .1
_SEEDS = range(4)


@dataclass(frozen=True)
class Checked:
    """A check by name, and what went wrong in it ("" if it passed)."""

    name: str
    problem: str


def check_model(make: Make, advance: Callable[[int], None] = lambda checks: None) -> list[Checked]:
    """Every check on the model that ``make(seed=...)`` gives, one after another; ``advance`` is told of each."""
    found = []
    for check in CHECKS:
        try:
            check(make)
            problem = ""
        except Exception as reason:  # whatever it is, the model did it
            kind = "" if isinstance(reason, AssertionError) else f"{type(reason).__name__}: "
            problem = kind + printable(reason, 300)
        found.append(Checked(check.__name__.replace("_", " "), problem))
        advance(1)
    return found


def deleting_the_test_links_from_the_file_changes_no_score(make: Make) -> None:
    """A model that is given the training graph cannot know what was hidden, whatever it looks at."""
    whole = random_graph(11)
    for protocol in splits.PROTOCOLS:
        split = splits.make_split(whole, protocol, seed=0)
        pairs = np.concatenate([split.intra.positives, split.inter.positives, _some_pairs(whole)])
        expected = make(seed=3).fit(split.train).score(pairs)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "stripped.parquet"
            io.write(whole.without(intra=split.intra.positives, inter=split.inter.positives), path)
            scores = make(seed=3).fit(io.read(path)).score(pairs)
        _require(np.array_equal(scores, expected), f"protocol {protocol}: other scores without the test links")


def ids_and_attributes_carry_no_information(make: Make) -> None:
    """Ids shared by the copies of a unit would give every hidden inter link away."""
    graph = splits.marked_nodes(random_graph(12), seed=0).train
    anonymous = replace(graph, ids=_numbers(graph), attributes={"person": graph.ids})
    named, numbered = (make(seed=0).fit(each).score(_some_pairs(graph)) for each in (graph, anonymous))
    _require(np.array_equal(named, numbered), "other scores where nodes have other ids and an attribute")


def the_order_of_nodes_tells_nothing_about_who_is_who(make: Make) -> None:
    """Copies that share ids stand at like places in their layers. With the order shuffled layer by layer, a hidden
    counterpart must be found as well (or as badly) as before.
    """
    graph = random_graph(20, people=150, layers=2, degree=6)
    split = splits.held_out_units(graph, seed=0)
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(graph.layer_nodes(layer)) for layer in range(graph.n_layers)])
    position = np.empty(graph.n_nodes, dtype=np.int64)
    position[order] = np.arange(graph.n_nodes)
    others = _some_pairs(graph, 2000)
    others = others[graph.node_layer[others[:, 0]] != graph.node_layer[others[:, 1]]]
    found = []
    for train, moved in ((split.train, np.arange(graph.n_nodes)), (_in_order(split.train, position), position)):
        models = [make(seed=seed).fit(train) for seed in _SEEDS]
        found.append([auc(each.score(moved[split.inter.positives]), each.score(moved[others])) for each in models])
    before, after = (float(np.mean(values)) for values in found)
    tolerance = _EXACT if len({*found[0]}) == 1 else _LEARNED  # the same with any seed: nothing is left to chance
    _require(abs(before - after) <= tolerance, f"inter AUC {before:.3f}, {after:.3f} with nodes in another order")


def the_same_seed_gives_the_same_scores(make: Make) -> None:
    """To the last bit."""
    graph = random_graph(13)
    first, second = (make(seed=5).fit(graph).score(_some_pairs(graph)) for _ in range(2))
    _require(first.tobytes() == second.tobytes(), "other scores the second time")


def blocks_and_pairs_give_the_same_scores(make: Make) -> None:
    """`score_block` and `score`, within layers and between them."""
    graph = random_graph(14)
    model = make(seed=0).fit(graph)
    for a in range(graph.n_layers):
        for b in range(graph.n_layers):
            rows, columns = graph.layer_nodes(a)[::2], graph.layer_nodes(b)[1::3]
            pairs = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
            block, scores = model.score_block(rows, columns), model.score(pairs)
            _require(
                block.shape == (len(rows), len(columns)),
                f"a block of the shape {block.shape}, expected {(len(rows), len(columns))}",
            )
            # To the rounding of single precision, in which vectors are kept.
            _require(np.allclose(block.ravel(), scores, rtol=1e-6, atol=1e-6), "other scores in a block than by pairs")


def scores_are_finite_numbers_one_for_each_pair(make: Make) -> None:
    """In double precision; none for no pair."""
    graph = random_graph(15)
    pairs, model = _some_pairs(graph), make(seed=0).fit(graph)
    scores = model.score(pairs)
    _require(scores.dtype == np.float64, f"scores of the type {scores.dtype}, expected float64")
    _require(scores.shape == (len(pairs),), f"scores of the shape {scores.shape}, expected {(len(pairs),)}")
    _require(np.isfinite(scores).all(), "a score that is no finite number")
    _require(model.score(np.empty((0, 2), dtype=int)).shape == (0,), "no pairs given, and scores found")


def probabilities_within_layers_rise_with_the_scores(make: Make) -> None:
    """Between 0 and 1 where there are any, none for known links."""
    graph = random_graph(15, people=150)
    pairs, model = _some_pairs(graph, 3000), make(seed=0).fit(graph)
    pairs = pairs[graph.node_layer[pairs[:, 0]] == graph.node_layer[pairs[:, 1]]]
    found = model.link_probability(pairs)
    _require(found.shape == (len(pairs),), f"probabilities of the shape {found.shape}, expected {(len(pairs),)}")
    _require(np.isnan(model.link_probability(graph.intra)).all(), "a probability of a known link")
    told = ~np.isnan(found)
    _require(((found[told] >= 0) & (found[told] <= 1)).all(), "a probability that is not from 0 to 1")
    order = np.argsort(model.score(pairs[told]), kind="stable")
    _require((np.diff(found[told][order]) >= -_EXACT).all(), "a higher score with a lower probability")


def odd_graphs_are_no_trouble(make: Make) -> None:
    """Without inter links, without intra links, with one layer."""
    no_inter, no_intra = graph_of("x.a x.b", "y.a y.b"), graph_of("x.a x.a", "y.a y.a", "x.a y.a")
    for graph in (no_inter, no_intra, graph_of("x.a x.b", "x.b x.c")):
        pairs = [[u, v] for u in range(graph.n_nodes) for v in range(graph.n_nodes) if u != v]
        _require(np.isfinite(make(seed=0).fit(graph).score(pairs)).all(), f"no finite scores in {graph!r}")


def fit_leaves_the_graph_as_it_was(make: Make) -> None:
    """Arrays are shared, not copied."""
    graph = random_graph(16)
    before = graph.fingerprint()
    make(seed=0).fit(graph)
    _require(graph.fingerprint() == before, "the graph is another one after fit")


def saved_and_loaded_it_is_the_same_model(make: Make) -> None:
    """Name, seed, settings, graph and scores; the same training gives the same bytes."""
    graph = random_graph(19)
    model = make(seed=4).fit(graph)
    pairs = _some_pairs(graph)
    with TemporaryDirectory() as folder:
        first, again, third = (Path(folder) / f"{name}.safetensors" for name in "abc")
        model.save(first)
        make(seed=4).fit(graph).save(again)
        _require(first.read_bytes() == again.read_bytes(), "another file for the same training")
        loaded = load_model(first)
        _require(
            (loaded.name, loaded.seed, loaded.settings) == (model.name, 4, model.settings),
            f"loaded it is {loaded.name!r} with seed {loaded.seed} and the settings {loaded.settings}",
        )
        _require(loaded.graph == graph, "loaded it has another graph")
        _require(np.array_equal(loaded.score(pairs), model.score(pairs)), "loaded it gives other scores")
        before, after = (each.link_probability(pairs) for each in (model, loaded))
        _require(np.array_equal(before, after, equal_nan=True), "loaded it gives other probabilities")
        loaded.save(third)
        _require(first.read_bytes() == third.read_bytes(), "another file when what was loaded is saved")


def misuse_is_named(make: Make) -> None:
    """A setting that there is not, scores before `fit`, a node that there is not."""
    _require_refusal(lambda: make(seed=0, colour="red"), "no setting 'colour'")
    _require_refusal(lambda: make(seed=0).score([[0, 1]]), "not fitted yet")
    graph = random_graph(17)
    _require_refusal(lambda: make(seed=0).fit(graph).score([[0, graph.n_nodes]]), "expected 0 to")


CHECKS: tuple[Callable[[Make], None], ...] = (
    deleting_the_test_links_from_the_file_changes_no_score,
    ids_and_attributes_carry_no_information,
    the_order_of_nodes_tells_nothing_about_who_is_who,
    the_same_seed_gives_the_same_scores,
    blocks_and_pairs_give_the_same_scores,
    scores_are_finite_numbers_one_for_each_pair,
    probabilities_within_layers_rise_with_the_scores,
    odd_graphs_are_no_trouble,
    fit_leaves_the_graph_as_it_was,
    saved_and_loaded_it_is_the_same_model,
    misuse_is_named,
)


def _require(good: Any, otherwise: str) -> None:
    if not good:
        raise AssertionError(otherwise)


def _require_refusal(act: Callable[[], object], words: str) -> None:
    """SettingError with these words."""
    try:
        act()
    except SettingError as problem:
        _require(words in str(problem), f"the SettingError says {str(problem)!r}, expected {words!r} in it")
    else:
        raise AssertionError(f"no SettingError, expected one that says {words!r}")


def _some_pairs(graph: MultiplexGraph, n: int = 400) -> NDArray[np.int64]:
    pairs = np.random.default_rng(1).integers(graph.n_nodes, size=(n, 2))
    return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])


def _numbers(graph: MultiplexGraph) -> pa.Array:
    return pa.array([f"{i:06d}" for i in range(graph.n_nodes)], pa.large_string())


def _in_order(graph: MultiplexGraph, position: NDArray[np.int64]) -> MultiplexGraph:
    """The same network with node i at ``position[i]``, within its layer."""
    intra, inter = (np.sort(position[links], axis=1).astype(np.int32) for links in (graph.intra, graph.inter))
    return replace(
        graph,
        ids=_numbers(graph),
        intra=intra[np.lexsort(intra.T[::-1])],
        inter=inter[np.lexsort(inter.T[::-1])],
    )


def graph_of(*links: str, layers: str | None = None) -> MultiplexGraph:
    """A graph from links like ``"x.a x.b"`` (intra) and ``"x.a y.c 2.5"`` (inter, weight 2.5): layer.id twice."""
    rows = [link.split() for link in links]
    ends = [[end.split(".") for end in row[:2]] for row in rows]
    names = list(layers or dict.fromkeys(layer for pair in ends for layer, _ in pair))
    weights = [float(row[2]) if len(row) == 3 else 1.0 for row in rows]
    return build(
        names,
        EdgeTable(
            source=pa.array([pair[0][1] for pair in ends], pa.large_string()),
            source_layer=np.array([names.index(pair[0][0]) for pair in ends], dtype=np.int64),
            target=pa.array([pair[1][1] for pair in ends], pa.large_string()),
            target_layer=np.array([names.index(pair[1][0]) for pair in ends], dtype=np.int64),
            weight=np.array(weights),
        ),
    )


def random_graph(
    seed: int, people: int = 60, layers: int = 3, degree: float = 4.0, known: float = 0.8
) -> MultiplexGraph:
    """A random multiplex with shared ties between layers; ids are shared by the copies of a person."""
    rng = np.random.default_rng(seed)
    pool = rng.integers(people, size=(int(people * degree / 2), 2))
    links = []
    for layer in range(layers):
        ties = pool[rng.random(len(pool)) < 0.7]
        links += [f"L{layer}.p{u} L{layer}.p{v}" for u, v in ties]
        links += [f"L{layer}.p{u} L{layer}.p{u}" for u in np.flatnonzero(rng.random(people) < 0.3)]
    present = {end for link in links for end in link.split()}
    for a in range(layers):
        for b in range(a + 1, layers):
            for person in range(people):
                if {f"L{a}.p{person}", f"L{b}.p{person}"} <= present and rng.random() < known:
                    links.append(f"L{a}.p{person} L{b}.p{person}")
    return graph_of(*links, layers=None)
