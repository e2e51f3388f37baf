"""Models that read features tell links by attributes where nothing else does."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from mpxgat.errors import SettingError
from mpxgat.features import encode_features
from mpxgat.graph import Features, MultiplexGraph
from mpxgat.metrics import auc
from mpxgat.models import make_model
from mpxgat.synthetic import social

GROUPS, SIZE, DEGREE = 6, 80, 2
ATTENTION = {"hidden": 8, "out": 8, "heads": 2, "epochs": 30, "lr": 0.01}
MODELS = {
    "anchored": {"dimensions": 16, "splits": 2, "epochs": 20, "lr": 0.01},
    "mpxgat": ATTENTION,
    "mpxgat as the authors": ATTENTION | {"preset": "reference"},
    "mpxgat in batches": ATTENTION | {"batch": 128, "epochs": 15},
}

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning"),  # rare values share a feature
]


def planted(seed=0):
    """Two layers of the same people in groups, who know nobody outside their own; the first of a group knows nobody.

    Counterparts of the others are known. The column tells the groups.
    """
    n = GROUPS * SIZE
    rng = np.random.default_rng(seed)
    group = np.arange(n) // SIZE
    lonely = np.arange(n) % SIZE == 0
    intra = []
    for layer in (0, 1):
        for person in np.flatnonzero(~lonely):
            friends = rng.choice(np.flatnonzero((group == group[person]) & ~lonely), DEGREE, replace=False)
            intra += [sorted((person + layer * n, friend + layer * n)) for friend in friends if friend != person]
    people = np.flatnonzero(~lonely)
    graph = MultiplexGraph(
        layers=("a", "b"),
        layer_start=np.array([0, n, 2 * n]),
        ids=pa.array([f"{i:04}" for i in range(n)] * 2, pa.large_string()),
        intra=np.unique(np.array(intra, dtype=np.int32), axis=0),
        inter=np.stack([people, people + n], axis=1).astype(np.int32),
        attributes={"group": pa.array([f"group {i}" for i in group] * 2, pa.large_string())},
    )
    return graph, np.tile(group, 2), np.tile(lonely, 2)


def partners_found(model, group, lonely):
    """AUC of nodes of the own group among all others, of nodes without links: within the layer, and in the other."""
    layer = model.graph.node_layer
    found = []
    for same_layer in (True, False):
        first, second = np.meshgrid(np.flatnonzero(lonely), np.flatnonzero(~lonely), indexing="ij")
        wanted = (layer[first] == layer[second]) == same_layer
        pairs = np.stack([first[wanted], second[wanted]], axis=1)
        scores, right = model.score(pairs), group[pairs[:, 0]] == group[pairs[:, 1]]
        found.append(auc(scores[right], scores[~right]))
    return found


@pytest.mark.parametrize("name", MODELS)
def test_a_node_without_links_gets_its_partners_by_its_features(name):
    graph, group, lonely = planted()
    without, known = (
        partners_found(make_model(name.split()[0], **MODELS[name]).fit(each), group, lonely)
        for each in (graph, encode_features(graph, "group"))
    )
    assert min(known) > 0.75
    assert max(without) < 0.6


def test_only_what_is_named_is_read():
    graph, *_ = planted()
    plain, others = (
        make_model("anchored", **MODELS["anchored"], seed=3).fit(each) for each in (graph, shuffled(graph))
    )
    assert np.array_equal(plain.vertical, others.vertical)


def shuffled(graph):
    """With other values in its column."""
    order = np.random.default_rng(0).permutation(graph.n_nodes)
    return replace(graph, attributes={name: column.take(pa.array(order)) for name, column in graph.attributes.items()})


def test_a_model_is_extended_to_a_graph_that_is_encoded_like_its_own():
    graph = social(120, 2, 0, names=True)
    old = graph.subgraph(np.arange(graph.n_nodes) % 10 != 0)
    columns = ["city:category", "joined:date"]
    model = make_model("anchored", **MODELS["anchored"] | {"epochs": 2}).fit(encode_features(old, columns))
    extended = model.extend(encode_features(graph, columns, like=old))
    assert np.isfinite(extended.vertical).all()
    again = model.extend(encode_features(old, columns, like=model.graph))
    assert again.vertical == pytest.approx(model.vertical, abs=1e-5)
    for alone in (encode_features(graph, columns), graph):
        with pytest.raises(
            SettingError, match=r"expected 'city=.* become the same features by mpxgat\.encode_features"
        ):
            model.extend(alone)


def test_a_rare_value_that_no_example_has_does_not_swamp_the_others():
    """Deviations are those of nodes whose links are hidden again; a feature may be the same in all of them."""
    graph, *_ = planted()
    rare = np.eye(graph.n_nodes, 40, dtype=np.float32)  # of one node each
    names = tuple(f"rare {number}" for number in range(40))
    model = make_model("anchored", **MODELS["anchored"] | {"epochs": 1})
    model.fit(replace(graph, vertical_features=Features(names, rare)))
    assert model._net.deviation[-40:].min() > 0.02
