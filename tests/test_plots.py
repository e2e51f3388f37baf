"""Charts of results: what they hold, that Vega-Lite takes them, and that a layer keeps its colour."""

import numpy as np
import pytest

import mpxgat as mx
from mpxgat import plots
from mpxgat.errors import MissingExtraError, SettingError
from mpxgat.evaluation import Evaluation, Measures
from mpxgat.matching import match_all, match_layers
from mpxgat.report import charts
from tests.examples import graph_of, random_graph
from tests.matching.doubles import TableMatcher


def scales(spec):
    """All colours of layers in a chart, as (layer, colour)."""
    if isinstance(spec, dict):
        if "scale" in spec and str(spec.get("field", "")).startswith("="):
            yield from zip(spec["scale"]["domain"], spec["scale"]["range"], strict=True)
        spec = list(spec.values())
    if isinstance(spec, list):
        for part in spec:
            yield from scales(part)


def matcher(layers="xyz"):
    graph = graph_of("x.a x.b", "y.a y.b", "z.a z.b", "x.b y.b", layers=layers)
    return TableMatcher(graph, {(graph.index("a", "y"), graph.index("a", "z")): 0.95})


def test_an_evaluation_has_a_dot_for_every_layer_and_pair():
    split = mx.splits.held_out_units(random_graph(0), seed=0)
    result = mx.evaluate(mx.make_model("rules").fit(split.train), split)
    within, between = (part["data"]["values"] for part in result.plot().to_dict()["vconcat"])
    assert [row["label"] for row in within] == [name for (name,) in result.intra_by_layer]
    assert {row["label"] for row in between} == {"L0 – L1", "L0 – L2", "L1 – L2"}
    assert within[0]["value"] == result.intra_by_layer["L0",].values["auc"]
    ap = result.plot("ap").to_dict()["vconcat"][0]["data"]["values"]
    assert ap[0]["value"] == result.intra_by_layer["L0",].values["ap"]
    with pytest.raises(SettingError, match="no chart of 'mrr', expected auc or ap"):
        result.plot("mrr")


def test_a_layer_has_one_colour_in_all_charts():
    some = matcher()
    split = mx.splits.held_out_units(random_graph(0), seed=0)
    result = mx.evaluate(mx.make_model("rules").fit(split.train), split)
    of_layers = dict(scales(match_layers(some, "y", "z", threshold=0.5).plot().to_dict()))
    assert of_layers == dict(scales(match_all(some, 0.5).plot().to_dict()))
    assert of_layers == {"=x": plots.COLOURS[0], "=y": plots.COLOURS[1], "=z": plots.COLOURS[2]}
    assert list(dict(scales(result.plot().to_dict())).values()) == [*plots.COLOURS[:3]]
    assert plots.COLOURS[0] == charts.ACCENT


def test_matches_are_counted():
    matches = match_layers(matcher(), "y", "z", threshold=0.5)
    outcomes, probabilities = matches.plot().to_dict()["vconcat"]
    assert {row["outcome"]: row["nodes"] for row in outcomes["data"]["values"]} == {
        "matched": 2,
        "below threshold": 0,
        "outdone": 0,
        "no candidate": 2,
    }
    (row,) = probabilities["layer"][0]["data"]["values"]
    assert (row["layer"], row["low"], row["nodes"]) == ("y", pytest.approx(0.95), 1)


def test_of_thousands_of_layers_some_are_shown():
    measures = {(f"layer {n}",): Measures(n, 10, {"auc": 0.5 if n % 2 else np.nan, "ap": 0.5}) for n in range(3000)}
    whole = Measures(1, 1, {"auc": 0.5, "ap": 0.5})
    result = Evaluation(whole, whole, {}, 0.5, measures, {}, tuple(name for (name,) in measures))
    (rows,) = result.plot().to_dict()["datasets"].values()  # where Altair puts those of a chart with a single part
    assert [row["links"] for row in rows] == list(range(2881, 3000, 2))


@pytest.mark.parametrize("name", ["constructor", "__proto__", "<b>"])
def test_names_of_layers_are_only_data(name):
    matches = match_layers(matcher(), "y", "z", threshold=0.5)
    renamed = [{"layer": name, "low": 0.9, "high": 1, "nodes": 1}]
    spec = plots.outcomes_and_probabilities(["x", name], [], renamed, matches.threshold).to_dict()
    assert dict(scales(spec))[f"={name}"] == plots.COLOURS[1]
    svg = charts.to_svg(spec).decode()
    assert plots.COLOURS[1] in svg
    assert "<b>" not in svg


def test_without_altair(monkeypatch):
    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"a chart needs the package altair; .*'mpxgat\[plots\]'"):
        match_all(matcher(), 0.5).plot()
