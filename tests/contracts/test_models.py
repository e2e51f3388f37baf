"""What every registered model must do, whatever it is called. A new model joins by being registered."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from mpxgat import io, splits
from mpxgat.errors import SettingError
from mpxgat.evaluation import evaluate
from mpxgat.metrics import auc
from mpxgat.models import load_model, model_names
from mpxgat.models import make_model as make_any_model
from tests.examples import graph_of, random_graph

# Neural models at a size that trains in a moment.
_ATTENTION = {"hidden": 8, "out": 8, "heads": 2, "epochs": 12, "check_every": 4}
SMALL = {
    "mpxgat": _ATTENTION,
    "mpxgat-random": _ATTENTION,
    "gat": _ATTENTION,
    "graphsage": {"dimensions": 8, "epochs": 2},
    "multiplexsage": {"dimensions": 8, "epochs": 2},
    "anchored": {"dimensions": 16, "hidden": 8, "terms": 4, "splits": 2, "steps": 4, "epochs": 3},
    "evidence": {"splits": 2, "trees": 20},
    "gatne": {"dimensions": 8, "edge_dimensions": 4, "attention_dimensions": 4, "epochs": 2},
}


IN_BATCHES = " in batches"  # the same model, trained another way
SMALL |= {name + IN_BATCHES: {**_ATTENTION, "epochs": 4, "batch": 24} for name in ("mpxgat", "gat")}
LEARNED = {*SMALL, "auto"}  # `auto` has no settings

every_model = pytest.mark.parametrize("name", sorted({*model_names(), *SMALL}))


def make_model(name, *, seed=0):
    return make_any_model(registered(name), seed=seed, **SMALL.get(name, {}))


def registered(name):
    return name.removesuffix(IN_BATCHES)


def with_order(graph, order, place):
    """The same network with node ``order[i]`` at position i."""
    intra, inter = (np.sort(place[links], axis=1).astype(np.int32) for links in (graph.intra, graph.inter))
    return replace(
        graph,
        ids=pa.array([f"{i:06d}" for i in range(graph.n_nodes)], pa.large_string()),
        intra=intra[np.lexsort(intra.T[::-1])],
        inter=inter[np.lexsort(inter.T[::-1])],
    )


def some_pairs(graph, n=400):
    pairs = np.random.default_rng(1).integers(graph.n_nodes, size=(n, 2))
    return pairs[pairs[:, 0] != pairs[:, 1]]


@pytest.mark.parametrize("protocol", sorted(splits.PROTOCOLS))
@every_model
def test_deleting_the_test_links_from_the_file_beforehand_changes_no_score(name, protocol, tmp_path):
    whole = random_graph(11)
    split = splits.make_split(whole, protocol, seed=0)
    pairs = np.concatenate([split.intra.positives, split.inter.positives, some_pairs(whole)])
    expected = make_model(name, seed=3).fit(split.train).score(pairs)

    stripped = whole.without(intra=split.intra.positives, inter=split.inter.positives)
    io.write(stripped, tmp_path / "stripped.parquet")
    read_back = io.read(tmp_path / "stripped.parquet")
    assert np.array_equal(make_model(name, seed=3).fit(read_back).score(pairs), expected)


@every_model
def test_ids_and_attributes_carry_no_information(name):
    """Ids shared by the copies of a unit would give every hidden inter link away."""
    graph = splits.marked_nodes(random_graph(12), seed=0).train
    anonymous = replace(
        graph,
        ids=pa.array([f"{i:06d}" for i in range(graph.n_nodes)], pa.large_string()),
        attributes={"person": graph.ids},
    )
    pairs = some_pairs(graph)
    assert np.array_equal(
        make_model(name, seed=0).fit(graph).score(pairs), make_model(name, seed=0).fit(anonymous).score(pairs)
    )


@every_model
def test_the_order_of_nodes_tells_nothing_about_who_is_who(name):
    """Copies that share ids stand at like places in their layers. With the order shuffled layer by layer, a hidden
    counterpart must be found as well (or as badly) as before.
    """
    graph = random_graph(20, people=150, layers=2, degree=6)
    split = splits.held_out_units(graph, seed=0)
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(graph.layer_nodes(layer)) for layer in range(graph.n_layers)])
    place = np.empty(graph.n_nodes, dtype=np.int64)
    place[order] = np.arange(graph.n_nodes)
    shuffled = with_order(split.train, order, place)
    positives, others = split.inter.positives, some_pairs(graph, 2000)
    others = others[graph.node_layer[others[:, 0]] != graph.node_layer[others[:, 1]]]
    seeds = range(4) if name in SMALL else (1,)  # what is trained for a moment scatters by .1 around its mean
    means = []
    for train, move in ((split.train, np.arange(graph.n_nodes)), (shuffled, place)):
        models = [make_model(name, seed=seed).fit(train) for seed in seeds]
        means.append(np.mean([auc(model.score(move[positives]), model.score(move[others])) for model in models]))
    assert means[0] == pytest.approx(means[1], abs=0.15 if name in LEARNED else 1e-9)


@every_model
def test_same_seed_same_scores(name):
    graph, pairs = random_graph(13), some_pairs(random_graph(13))
    first, second = (make_model(name, seed=5).fit(graph).score(pairs) for _ in range(2))
    assert first.tobytes() == second.tobytes()


@every_model
def test_blocks_and_pairs_give_the_same_scores(name):
    graph = random_graph(14)
    model = make_model(name).fit(graph)
    for a in range(graph.n_layers):
        for b in range(graph.n_layers):
            rows, cols = graph.layer_nodes(a)[::2], graph.layer_nodes(b)[1::3]
            pairs = np.stack(np.meshgrid(rows, cols, indexing="ij"), axis=-1).reshape(-1, 2)
            block = model.score_block(rows, cols)
            assert block.shape == (len(rows), len(cols))
            assert block.ravel() == pytest.approx(model.score(pairs), abs=1e-6)


@every_model
def test_scores_are_finite_numbers_one_for_each_pair(name):
    graph = random_graph(15)
    scores = make_model(name).fit(graph).score(some_pairs(graph))
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    assert make_model(name).fit(graph).score(np.empty((0, 2), dtype=int)).shape == (0,)


@every_model
def test_odd_graphs_are_no_trouble(name):
    for graph in (
        graph_of("x.a x.b", "y.a y.b"),  # no inter link
        graph_of("x.a x.a", "y.a y.a", "x.a y.a"),  # no intra link
        graph_of("x.a x.b", "x.b x.c"),  # one layer
    ):
        pairs = [[u, v] for u in range(graph.n_nodes) for v in range(graph.n_nodes) if u != v]
        assert np.isfinite(make_model(name).fit(graph).score(pairs)).all()


@every_model
def test_fit_leaves_the_graph_as_it_was(name):
    graph = random_graph(16)
    before = graph.fingerprint()
    make_model(name).fit(graph)
    assert graph.fingerprint() == before


@every_model
def test_saved_and_loaded_it_is_the_same_model(name, tmp_path):
    graph = random_graph(19)
    model = make_model(name, seed=4).fit(graph)
    first = model.save(tmp_path / "a.safetensors")
    again = make_model(name, seed=4).fit(graph).save(tmp_path / "b.safetensors")
    assert first.read_bytes() == again.read_bytes()
    loaded = load_model(first)
    assert (loaded.name, loaded.seed, loaded.settings) == (registered(name), 4, model.settings)
    assert loaded.graph == graph
    assert np.array_equal(loaded.score(some_pairs(graph)), model.score(some_pairs(graph)))
    assert loaded.save(tmp_path / "c.safetensors").read_bytes() == first.read_bytes()


@every_model
def test_an_unknown_setting_is_named(name):
    with pytest.raises(SettingError, match="no setting 'colour'"):
        make_any_model(registered(name), colour="red")


@every_model
def test_misuse_is_named(name):
    with pytest.raises(SettingError, match="not fitted yet"):
        make_model(name).score([[0, 1]])
    graph = random_graph(17)
    with pytest.raises(SettingError, match="expected 0 to"):
        make_model(name).fit(graph).score([[0, graph.n_nodes]])


@every_model
def test_a_model_that_has_seen_test_links_is_not_evaluated(name):
    graph = random_graph(18)
    split = splits.marked_nodes(graph, seed=0)
    with pytest.raises(SettingError, match=r"holds \d+ of the test links"):
        evaluate(make_model(name).fit(graph), split)


def test_an_unknown_model_is_named_with_a_near_one():
    with pytest.raises(SettingError, match="no model 'rule'; did you mean rules"):
        make_any_model("rule")
