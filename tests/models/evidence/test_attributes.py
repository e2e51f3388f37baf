from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import mpxgat as mx
from mpxgat import splits
from mpxgat.build import with_apart, with_inter_links
from mpxgat.errors import InputError, SettingError
from mpxgat.evaluation import rank_counterparts
from mpxgat.io.arrays import read_arrays, write_arrays
from mpxgat.models import load_model
from mpxgat.models.base import KIND
from mpxgat.models.evidence import Evidence
from mpxgat.models.evidence.attributes import Attributes
from mpxgat.models.evidence.cold_start import likely_by_attributes
from mpxgat.pairs import PairList, pair_keys
from mpxgat.synthetic import social, truth
from tests.matching.doubles import check_matcher

QUICK = {"embeddings": "none", "rounds": 2, "splits": 2, "trees": 30}
NAMES = {"username": mx.compare.text(), "city": mx.compare.category(), "joined": mx.compare.date()}

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def graph():
    return social(people=300, layers=2, seed=100, names=True)


@pytest.fixture(scope="module")
def split(graph):
    return splits.known_anchors(graph, 100, 0.4)


@pytest.fixture(scope="module")
def model(split):
    return Evidence(compare=NAMES, **QUICK).fit(split.train)


def every_pair(graph, step=17):
    return np.argwhere(np.triu(np.ones((graph.n_nodes, graph.n_nodes)), k=1))[::step]


def with_column(graph, name, values):
    return replace(graph, attributes={**graph.attributes, name: pa.array(values, pa.large_string())})


def without_links(graph):
    return graph.without(inter=graph.inter)


def test_named_attributes_find_more(split, model):
    alone = Evidence(**QUICK).fit(split.train)
    ours, theirs = (rank_counterparts(each, split).measures()["mean"]["hits@1"] for each in (model, alone))
    assert ours > theirs + 0.1


def test_they_are_columns_of_both_kinds_of_pairs_and_reasons(model):
    names = model._joint.features.names
    told = model._attributes.names
    assert len(told) > 3
    assert set(model._inter_attributes.names) <= set(names)
    assert set(told) <= {column.name for column in model._intra.columns(PairList(model.graph.intra[:1]))}
    first, second = model.match_all(threshold=0.0).pairs[0]
    labels = [reason.label for reason in model.explain(first, second).reasons]
    assert {"username", "city"} <= set(labels)


def test_nothing_else_is_read(split, model):
    graph = split.train
    others = {name: pa.array([""] * graph.n_nodes, pa.large_string()) for name in ("person", "community")}
    bare = replace(graph, attributes={name: graph.attributes[name] for name in NAMES} | others)
    again = Evidence(compare=NAMES, **QUICK).fit(bare)
    pairs = every_pair(graph)
    assert np.array_equal(again.score(pairs), model.score(pairs))


def test_ids_are_not_read(split, model):
    graph = split.train
    renamed = replace(graph, ids=pa.array([f"z{number:05d}" for number in range(graph.n_nodes)], pa.large_string()))
    pairs = every_pair(graph)
    again = Evidence(compare=NAMES, **QUICK).fit(renamed)
    assert np.array_equal(again.score(pairs), model.score(pairs))


def test_without_names_no_attribute_is_read(split):
    pairs = every_pair(split.train)
    found = [Evidence(**QUICK).fit(each).score(pairs) for each in (split.train, replace(split.train, attributes={}))]
    assert np.array_equal(*found)


def test_they_propose_candidates_and_recall_is_told_by_source(model):
    summary = model.training_summary()
    assert summary["compared"] == ["username:text", "city:category", "joined:date"]
    assert summary["compared_between_layers"] == ["username:text", "city:category"]
    by = summary["candidate_recall_by"]
    assert set(by) == {"walks", "attributes"}
    assert max(by.values()) <= summary["candidate_recall"] <= sum(by.values())
    assert by["attributes"] > 0.3
    n = model.graph.n_nodes
    proposed = pair_keys(model._inter_attributes.proposed, n)
    is_open = ~model._seen.units.decided(*model._inter_attributes.proposed.T)
    assert np.isin(proposed[is_open], pair_keys(model._joint.pairs, n)).all()


def test_columns_of_no_use_are_left_out_between_layers(split, model):
    graph, rng = split.train, np.random.default_rng(0)
    mixed = np.array(graph.attributes["username"].to_pylist(), dtype=object)
    for nodes in map(graph.layer_nodes, range(2)):
        mixed[nodes] = mixed[rng.permutation(nodes)]
    graph = with_column(graph, "mixed", mixed.tolist())
    graph = with_column(graph, "again", graph.attributes["username"].to_pylist())
    found = Evidence(compare={**NAMES, "mixed": mx.compare.text(), "again": mx.compare.text()}, **QUICK).fit(graph)
    kept = {each.column for each in found._inter_attributes.comparisons}
    assert kept in ({"username", "city"}, {"again", "city"})  # of two that say the same, one
    assert len(found.compared) == 5


def test_nodes_without_a_link_are_found():
    graph = social(people=200, layers=2, seed=101, names=True)
    lonely = graph.inter[::4]
    bare = graph.without(intra=graph.intra[np.isin(graph.intra, lonely).any(axis=1)], inter=lonely)
    found = {}
    for name, compare in (("structure", ""), ("names", "username:text")):
        model = Evidence(compare=compare, **QUICK).fit(bare)
        found[name] = np.isin(pair_keys(lonely, graph.n_nodes), pair_keys(model._joint.pairs, graph.n_nodes)).mean()
    assert found["structure"] == 0
    assert found["names"] > 0.25


def test_a_saved_model_is_the_same(model, tmp_path):
    loaded = load_model(model.save(tmp_path / "model.safetensors"))
    pairs = every_pair(model.graph)
    assert np.allclose(loaded.score(pairs), model.score(pairs), rtol=0, atol=1e-9)
    assert loaded.settings == model.settings
    assert loaded.training_summary() == model.training_summary()
    check_matcher(loaded)


def test_a_damaged_comparison_in_a_file_is_told(model, tmp_path):
    path = model.save(tmp_path / "model.safetensors")
    header, arrays = read_arrays(path, KIND)
    header["notes"]["attributes"]["forms"] = [3, 4, 5]
    write_arrays(path, KIND, header, arrays)
    with pytest.raises(InputError, match="the saved comparisons are damaged, expected texts"):
        load_model(path)


def test_it_can_be_extended_and_asks_for_its_columns(model):
    graph = model.graph
    pairs = every_pair(graph)
    assert np.allclose(model.extend(graph).score(pairs), model.score(pairs), rtol=0, atol=1e-9)
    fewer = replace(graph, attributes={name: graph.attributes[name] for name in ("username", "city")})
    with pytest.raises(SettingError, match="joined"):
        model.extend(fewer)


def test_all_is_a_guess(graph):
    model = Evidence(compare="all", **QUICK).fit(replace(graph, attributes={**profiles(graph)}))
    assert {each.column for each in model.compared} == set(NAMES)
    assert model.settings["compare"] == "all"


def profiles(graph):
    return {name: graph.attributes[name] for name in NAMES}


@pytest.mark.parametrize(
    ("compare", "told"),
    [
        ("usrname:text", "usrname"),
        ("joined:number", "expected a number"),
        ("username", "names no kind"),
        ("username:txt", "did you mean text"),
    ],
)
def test_what_does_not_fit_is_told(graph, compare, told):
    with pytest.raises(SettingError, match=told):
        Evidence(compare=compare, **QUICK).fit(graph)


@pytest.mark.parametrize("value", ["", "x", "\x00\n", "x" * 100_000])
def test_columns_that_say_nothing_do_no_harm(split, value):
    graph = with_column(split.train, "same", [value] * split.train.n_nodes)
    model = Evidence(compare="same:text", **QUICK).fit(graph)
    assert np.isfinite(model.score(every_pair(graph))).all()
    model.match_all(threshold=0.0)


# ---- without known links ---------------------------------------------------------------------------------


def test_a_start_without_known_links(graph):
    bare = without_links(graph)
    model = Evidence(compare=NAMES, **QUICK).fit(bare)
    matches = model.match_all(threshold=0.8)
    true = pair_keys(truth(graph), graph.n_nodes)
    right = np.isin(pair_keys(matches.pairs[matches.chosen], graph.n_nodes), true)
    assert matches.chosen.sum() >= 20
    assert right.mean() >= 0.85
    pairs = every_pair(bare)
    assert np.allclose(model.extend(bare).score(pairs), model.score(pairs), rtol=0, atol=1e-9)


def test_without_attributes_nothing_is_matched_without_known_links(graph):
    assert not len(Evidence(**QUICK).fit(without_links(graph)).match_all(threshold=0.0))


def test_likely_pairs_exclude_each_other_and_known_links(graph):
    few = with_inter_links(graph, graph.inter[:10])
    likely = likely_by_attributes(few, Attributes.of(few, "username:text, city:category"), 0)
    for side in (0, 1):
        assert np.bincount(likely.pairs[:, side], likely.probability).max() <= 1 + 1e-9
    assert not np.isin(likely.pairs, few.inter).any()
    assert 0 < len(likely.sure(few)) < len(likely.pairs)


def test_likely_pairs_of_columns_that_say_nothing():
    graph = social(people=60, layers=2, seed=3, known=0)
    same = with_column(graph, "same", ["x"] * graph.n_nodes)
    for column in ("", "x", "?"):
        same = with_column(graph, "same", [column] * graph.n_nodes)
        likely = likely_by_attributes(same, Attributes.of(same, "same:text"), 0)
        assert np.isfinite(likely.probability).all()
        assert not len(likely.sure(same))


def test_without_known_links_three_layers_agree():
    graph = social(people=150, layers=3, seed=100, names=True)
    bare = with_apart(without_links(graph), without_links(graph).layer_start[:2][None, :])
    likely = likely_by_attributes(bare, Attributes.of(bare, "username:text, city:category"), 0)
    with_inter_links(bare, likely.sure(bare))  # refuses what contradicts itself
    check_matcher(Evidence(compare=NAMES, **QUICK).fit(bare))
