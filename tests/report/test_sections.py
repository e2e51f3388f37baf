"""What the figures are made of, against slow definitions."""

import json
import math
from collections import Counter

import numpy as np
import pytest

import mpxgat as mx
from mpxgat.errors import SettingError
from mpxgat.evaluation import Summary, evaluate
from mpxgat.metrics import StreamedRanking
from mpxgat.pairs import pair_keys
from mpxgat.report.calibration import calibration_section, link_calibration_section, reliability_rows
from mpxgat.report.charts import layer_colours, to_png, to_svg
from mpxgat.report.comparison import Reached, _figures
from mpxgat.report.curves import HeldOut, Rankings, Scored, curves_section, score, thinned
from mpxgat.report.embedding import embedding_section, principal_components
from mpxgat.report.matches import matches_section
from mpxgat.report.network import network_section
from mpxgat.report.page import Figure
from mpxgat.report.reports import run_stages
from mpxgat.report.training import attention_section, attention_spreads, training_section
from mpxgat.splits import marked_nodes
from tests.report.networks import PROPERTIES, society_of_properties

pytestmark = pytest.mark.usefixtures("one_thread")


def rows_of(section, name):
    return section.records()[name]


def test_the_network_in_numbers(society):
    section = network_section(society)
    units = [set(np.flatnonzero(society.unit == unit).tolist()) for unit in range(society.n_units)]
    patterns = Counter(" + ".join(society.layers[society.node_layer[node]] for node in sorted(unit)) for unit in units)
    assert {row["layers"]: row["units"] for row in rows_of(section, "presence")} == dict(patterns)
    members = [set(society.unit[society.layer_nodes(layer)].tolist()) for layer in range(society.n_layers)]
    for row in rows_of(section, "overlap"):
        a, b = (society.layers.index(row[name]) for name in ("layer", "other layer"))
        assert row["share"] == pytest.approx(len(members[a] & members[b]) / len(members[a]))
    for row in rows_of(section, "degrees"):
        degree = society.degree[society.layer_nodes(society.layers.index(row["layer"]))]
        assert row["share"] == pytest.approx((degree >= row["degree"]).mean())


def test_a_network_of_one_layer_has_no_overlap(society):
    assert {figure.name for figure in network_section(society.layer("work")).figures} == {"layer-sizes", "degrees"}


def test_training_curves_are_the_history(small_mpxgat):
    section = training_section(small_mpxgat)
    assert {figure.name for figure in section.figures} == {"loss", "validation", "beta"}
    for part, points in small_mpxgat.history.items():
        found = [row["loss"] for row in rows_of(section, "loss") if row["part"] == part]
        assert found == [point["loss"] for point in points]
    last = small_mpxgat.history["between layers"][-1]
    block_1 = [row["beta"] for row in rows_of(section, "beta") if row["part"] == "block 1"]
    assert block_1[-1] == last["beta_1"]
    assert training_section(mx.models.make_model("rules").fit(small_mpxgat.graph)) is None


def test_a_second_fit_has_not_seen_what_it_is_evaluated_on(small_mpxgat, mpxgat_held_out):
    graph, split = mpxgat_held_out.model.graph, mpxgat_held_out.split
    for links, hidden in ((graph.intra, split.intra.positives), (graph.inter, split.inter.positives)):
        assert len(hidden)
        assert not np.isin(pair_keys(hidden, graph.n_nodes), pair_keys(links, graph.n_nodes)).any()
    assert mpxgat_held_out.model.settings == small_mpxgat.settings
    assert "second fit" in mpxgat_held_out.description()


def test_a_model_that_has_seen_the_links_is_refused(small_mpxgat):
    split = marked_nodes(small_mpxgat.graph, 100)
    with pytest.raises(SettingError, match=r"split\.train"):
        HeldOut(small_mpxgat, split, small_mpxgat.graph, refitted=False)


def test_scored_as_evaluate_does(mpxgat_held_out):
    scored = score(mpxgat_held_out)
    expected = evaluate(mpxgat_held_out.model, mpxgat_held_out.split)
    layers = mpxgat_held_out.whole.layers
    for found, measures, by_layer in (
        (scored.intra, expected.intra, expected.intra_by_layer),
        (scored.inter, expected.inter, expected.inter_by_layer),
    ):
        assert found.together.auc() == pytest.approx(measures.values["auc"], abs=1e-9)
        assert found.together.average_precision() == pytest.approx(measures.values["ap"], abs=1e-6)
        for pair, ranking in found.by_layers.items():
            name = tuple(layers[x] for x in sorted({*pair}))
            assert ranking.auc() == pytest.approx(by_layer[name].values["auc"], abs=1e-9, nan_ok=True)
    section = curves_section(scored)
    assert {figure.name for figure in section.figures} >= {"roc", "precision-recall", "auc-by-layer-pair"}
    assert len(rows_of(section, "roc")) <= 2 * 402
    assert section.summary == mpxgat_held_out.description()


def test_thinning_keeps_the_ends_and_the_shape():
    x = np.linspace(0, 1, 10_000)
    y = np.sqrt(x)
    places = thinned(x, y, 100)
    assert len(places) <= 102
    assert (places[0], places[-1]) == (0, len(x) - 1)
    assert np.abs(np.interp(x, x[places], y[places]) - y).max() < 0.02
    assert thinned(x[:5], y[:5], 100).tolist() == [0, 1, 2, 3, 4]


def test_reliability_by_hand():
    probability = np.array([0.05, 0.06, 0.55, 0.56, 0.57, 1.0])
    true = np.array([False, True, True, False, True, True])
    rows = reliability_rows(probability, true)
    assert [row["candidates"] for row in rows] == [2, 3, 1]
    assert [row["true"] for row in rows] == pytest.approx([0.5, 2 / 3, 1])
    assert [row["probability"] for row in rows] == pytest.approx([0.055, 0.56, 1])


def test_calibration_is_only_for_models_with_probabilities(evidence_held_out, mpxgat_held_out):
    assert calibration_section(mpxgat_held_out) is None
    section = calibration_section(evidence_held_out)
    assert section is None or {figure.name for figure in section.figures} >= {"reliability"}


def test_reliability_within_layers_is_that_of_the_curve(evidence):
    section = link_calibration_section(evidence)
    rows, (pairs, claimed, found) = rows_of(section, "link-reliability"), evidence.link_curve.reliability
    there = pairs > 0
    assert [row["pairs"] for row in rows] == pairs[there].tolist()
    assert [row["probability"] for row in rows] == pytest.approx(claimed[there] / pairs[there])
    assert [row["true"] for row in rows] == pytest.approx(np.minimum(found[there] / pairs[there], 1))
    assert f"{np.abs(claimed - found).sum() / pairs.sum():.3f}" in section.summary


def test_no_reliability_within_layers_without_probabilities(society):
    assert link_calibration_section(mx.models.make_model("rules").fit(society)) is None


def test_principal_components_show_most_of_the_variance():
    rng = np.random.default_rng(0)
    vectors = (rng.normal(size=(60, 5)) * [5, 3, 1, 0.5, 0.1]).astype(np.float32)
    places = principal_components(vectors, 0)
    _, sizes, _ = np.linalg.svd(vectors - vectors.mean(axis=0))
    assert (places**2).sum(axis=0) == pytest.approx(sizes[:2] ** 2, rel=1e-4)
    assert (principal_components(vectors[:, :1], 0)[:, 1] == 0).all()


def test_maps_hold_every_node_once(small_mpxgat):
    section = embedding_section(small_mpxgat)
    assert len(section.figures) >= 4
    rows = rows_of(section, "pca-vertical-by-layer")
    assert [(row["node"], row["layer"]) for row in rows] == [tuple(node) for node in small_mpxgat.graph.nodes]
    assert embedding_section(mx.models.make_model("rules").fit(small_mpxgat.graph)) is None


def test_attention_against_the_model(small_mpxgat):
    graph = small_mpxgat.graph
    spread = next(iter(attention_spreads(small_mpxgat)))
    evenness, own = [], []
    for node in graph.layer_nodes(0).tolist():
        heard = small_mpxgat.attention(node)["horizontal"]
        if len(heard) < 2:
            continue
        weights = np.stack([w.ravel() for _, w in heard]).astype(float)  # (senders, blocks * heads)
        evenness.append((-(weights * np.log(weights)).sum(axis=0) / math.log(len(heard))).mean())
        own.append(next(w for sender, w in heard if sender == node).mean())
    assert spread.evenness == pytest.approx(evenness, abs=1e-5)
    assert spread.own == pytest.approx(own, abs=1e-6)
    assert attention_section(mx.models.make_model("rules").fit(graph)) is None


def test_matches_know_what_is_right(evidence_held_out):
    found = evidence_held_out.model.match_all()
    section = matches_section(evidence_held_out.model, found, evidence_held_out.whole)
    counts = {row["layers"]: 0 for row in rows_of(section, "match-outcomes")}
    for row in rows_of(section, "match-outcomes"):
        counts[row["layers"]] += row["nodes"]
    assert sorted(counts.values()) == sorted(one.open_nodes for one in found.outcomes)
    assert len(rows_of(section, "top-matches")) == min(40, len(found)) if len(found) else not section.tables


def test_every_figure_of_a_run_can_be_drawn(small_mpxgat, mpxgat_held_out):
    sections = [part for stage in run_stages(small_mpxgat, "aucs", mpxgat_held_out) for part in stage.sections()]
    figures = [figure for section in sections for figure in section.figures]
    assert len(figures) >= 12
    assert len({figure.name for figure in figures}) == len(figures)
    for figure in figures:
        json.dumps(figure.in_page(), allow_nan=False)
        drawn = to_svg(figure.on_paper())
        assert drawn.count(b"<path") > 3, figure.name
    assert to_png(figures[0].on_paper()).startswith(b"\x89PNG")


def test_nothing_is_evaluated_without_a_second_fit(small_mpxgat):
    sections = [part for stage in run_stages(small_mpxgat, "aucs", None) for part in stage.sections()]
    names = {name for section in sections for name in section.records()}
    assert not names & {"roc", "precision-recall", "auc-by-layer", "reliability"}
    assert any("Not evaluated" in section.summary for section in sections)


def test_layers_named_like_properties_of_objects_are_drawn_on_paper():
    section = network_section(society_of_properties(people=40, seed=100))
    for figure in section.figures:
        drawn = to_svg(figure.on_paper()).decode()
        assert drawn.count("<path") > 10, figure.name
        if figure.name != "presence":  # whose labels are cut
            assert all(f">{name}</text>" in drawn for name in PROPERTIES), figure.name


def test_links_of_one_score_have_a_line_of_precision(mpxgat_held_out):
    ranking = StreamedRanking([1.0, 1.0, 1.0])
    ranking.add([0.0])
    section = curves_section(Scored(mpxgat_held_out, Rankings(ranking, {}), Rankings(ranking, {})))
    rows = rows_of(section, "precision-recall")
    assert [(row["recall"], row["precision"]) for row in rows] == [(0, 1), (1, 1)] * 2


def test_a_height_for_each_row_is_taken_times_the_rows():
    spec = {"height": {"step": 10}, "encoding": {"y": {"field": "a"}}, "mark": "bar"}
    figure = Figure("f", "t", "c", [{"a": "x"}, {"a": "y"}, {"a": "x"}], spec)
    assert figure.on_paper()["height"] == 20


def colours_by_layer(figure, column="layer"):
    """What a chart draws each category in, as the specification says it."""
    views = [figure.spec, *figure.spec.get("layer", ())]
    colours = [view.get("encoding", {}).get("color", {}) for view in views]
    scale, *others = [colour["scale"] for colour in colours if "scale" in colour]
    assert all(other == scale for other in others)
    assert set(scale["domain"]) == {row[column] for row in figure.rows}  # a legend shows nothing else
    return dict(zip(scale["domain"], scale["range"], strict=True))


def test_a_layer_has_the_same_colour_in_all_charts(small_mpxgat, mpxgat_held_out):
    sections = [part for stage in run_stages(small_mpxgat, "aucs", mpxgat_held_out) for part in stage.sections()]
    figures = {figure.name: figure for section in sections for figure in section.figures}
    expected = layer_colours(small_mpxgat.graph.layers)
    assert len({*expected.values()}) == small_mpxgat.graph.n_layers
    by_layer = ("layer-sizes", "degrees", "auc-by-layer", "pca-horizontal-by-layer", "pca-vertical-by-layer")
    for name in by_layer:
        assert colours_by_layer(figures[name]).items() <= expected.items(), name
    for name in ("loss", "validation", "attention-evenness", "attention-own"):
        colours = colours_by_layer(figures[name], "part")
        between = colours.pop("between layers", None)
        assert between not in expected.values(), name
        assert {part.partition(": ")[2]: colour for part, colour in colours.items()}.items() <= expected.items(), name
    drawn = to_svg(figures["degrees"].on_paper()).decode().lower()
    assert all(colour in drawn for colour in expected.values())


def test_a_layer_that_a_chart_leaves_out_changes_no_colour(society):
    silent = society.without(intra=society.intra[society.node_layer[society.intra[:, 0]] == 0])
    (degrees,) = [figure for figure in network_section(silent).figures if figure.name == "degrees"]
    found, expected = colours_by_layer(degrees), layer_colours(society.layers)
    assert society.layers[0] not in found
    assert found.items() < expected.items()


def test_no_whisker_reaches_beyond_what_a_measure_can_be():
    values = {"a": (0.94, 1.04), "b": (-0.01, 0.05), "c": (0.4, 0.6)}  # where whiskers would end
    found = {name: Summary((low + high) / 2, (high - low) / 2, (0.0, 1.0)) for name, (low, high) in values.items()}
    figures = _figures([Reached(name, name, {"inter.auc": each}) for name, each in found.items()], "", "comparison")
    (rows,) = [figure.rows for figure in figures]
    assert [(row["low"], row["high"]) for row in rows] == [
        pytest.approx(ends) for ends in ((0.94, 1), (0, 0.05), (0.4, 0.6))
    ]
