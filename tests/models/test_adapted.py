"""Embeddings and functions of the user's own as models."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

import mpxgat as mx
from mpxgat.errors import DataWarning, GraphError, SettingError
from mpxgat.models import base, load_model, make_model, register_model
from mpxgat.models.contract import CHECKS
from tests.examples import random_graph
from tests.models import adapted_own as own

GRAPH = random_graph(5)
SPLIT = mx.splits.marked_nodes(GRAPH, seed=0)
VECTORS = np.random.default_rng(0).normal(size=(GRAPH.n_nodes, 4)).astype(np.float32)


def adapt(vectors, graph=SPLIT.train, **more):
    return mx.adapt(vectors, learned_on=graph, **more).fit(graph)


@pytest.fixture
def names(monkeypatch):
    monkeypatch.setattr(base, "_REGISTERED", dict(base._REGISTERED))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ["Spectral", "Cosines", "Noise", "Busy", "Learned"])
def test_the_contract_of_all_models_is_kept(name, check):
    check(partial(make_model, f"tests.models.adapted_own:{name}"))


def test_an_embedder_is_called_with_the_training_graph_only():
    seen = []

    def embed(graph):
        seen.append(graph)
        return VECTORS

    mx.evaluate(mx.adapt(embed=embed).fit(SPLIT.train), SPLIT)
    assert len(seen) == 1
    assert seen[0] is SPLIT.train


def test_scores_are_dot_products_or_cosines():
    pairs = np.concatenate([SPLIT.intra.positives, SPLIT.inter.positives])
    one, other = VECTORS[pairs[:, 0]].astype(float), VECTORS[pairs[:, 1]].astype(float)
    dots = (one * other).sum(axis=1)
    assert adapt(VECTORS).score(pairs) == pytest.approx(dots)
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    assert adapt(VECTORS, cosine=True).score(pairs) == pytest.approx(dots / lengths, abs=1e-6)
    zeros = np.zeros_like(VECTORS)
    assert (adapt(zeros, cosine=True).score(pairs) == 0).all()


def test_vectors_come_in_any_form():
    nodes = list(GRAPH.nodes)
    order = np.random.default_rng(1).permutation(GRAPH.n_nodes)
    frame = pd.DataFrame(VECTORS[order])
    forms = [
        {(nodes[i].id, nodes[i].layer): VECTORS[i] for i in order},
        {nodes[i]: VECTORS[i].tolist() for i in order},
        pd.DataFrame(VECTORS),
        frame.assign(id=[nodes[i].id for i in order], layer=[nodes[i].layer for i in order]),
        frame.set_index(pd.MultiIndex.from_tuples([nodes[i] for i in order])),
    ]
    for form in forms:
        assert np.array_equal(adapt(form).horizontal, VECTORS)
    both = adapt((VECTORS, -2 * VECTORS))
    assert np.array_equal(both.vertical, -2 * both.horizontal)


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (VECTORS[1:], r"expected \(\d+, d\): a row for each node"),
        (VECTORS[:, 0], "a row for each node"),
        (VECTORS[:, :0], "a row for each node"),
        (np.full_like(VECTORS, np.nan), "the vector of 'p0' .* holds what is no finite number"),
        ([["a"]] * GRAPH.n_nodes, "no array of numbers"),
        ({node: VECTORS[i] for i, node in enumerate(GRAPH.nodes) if i}, f"no vector for 1 of {GRAPH.n_nodes} nodes"),
        ({"p0": VECTORS[0]}, r"a vector for 'p0', expected a node as \(id, layer\)"),
        ({("nobody", "L0"): VECTORS[0]}, "nobody"),
        ({node: VECTORS[0, : 1 + i % 2] for i, node in enumerate(GRAPH.nodes)}, "expected one length"),
        (pd.DataFrame(VECTORS, index=[f"p{i}" for i in range(GRAPH.n_nodes)]), "a DataFrame without layer and id"),
    ],
)
def test_vectors_that_do_not_fit_are_named(vectors, said):
    with pytest.raises((SettingError, GraphError), match=said):
        adapt(vectors)


def test_vectors_from_elsewhere_are_held_to_the_graph_they_were_learned_from():
    with pytest.raises(SettingError, match="learned on another graph"):
        mx.adapt(VECTORS, learned_on=GRAPH).fit(SPLIT.train)
    with pytest.warns(DataWarning, match="nothing says what these vectors were learned from"):
        mx.adapt(VECTORS).fit(SPLIT.train)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapt(VECTORS)


class TestFunctionsOfPairs:
    def test_a_learned_one_is_made_once(self):
        made = []

        def learn(graph):
            made.append(graph)
            return lambda pairs: np.ones(len(pairs))

        model = mx.adapt(learn=learn).fit(SPLIT.train)
        assert mx.evaluate(model, SPLIT).inter.values["auc"] == 0.5
        assert made == [SPLIT.train]

    @pytest.mark.parametrize(
        ("result", "said"),
        [
            (lambda pairs: np.ones(1), r"scores of the shape \(1,\)"),
            (lambda pairs: ["x"] * len(pairs), "numbers, one for each pair"),
            (lambda pairs: np.full(len(pairs), np.inf), r"no finite number, the first for the nodes \[0, 1\]"),
        ],
    )
    def test_scores_that_are_none_are_named(self, result, said):
        model = mx.adapt(score=lambda graph, pairs: result(pairs)).fit(GRAPH)
        with pytest.raises(SettingError, match=said):
            model.score([[0, 1], [1, 2]])

    def test_learn_gives_a_function(self):
        with pytest.raises(SettingError, match="a value of the kind int, expected a function of pairs"):
            mx.adapt(learn=lambda graph: 3).fit(GRAPH)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "none of vectors, embed, score and learn"),
        ({"embed": own.spectral, "score": own.busy}, "embed and score"),
        ({"score": own.busy, "cosine": True}, "cosine beside score"),
        ({"embed": own.spectral, "learned_on": GRAPH}, "learned_on beside embed"),
        ({"embed": VECTORS}, "expected a function"),
        ({"score": own.learned}, None),
        ({"score": lambda graph: 0}, "too few arguments"),
        ({"embed": lambda graph, size: 0}, "the argument 'size' of"),
        ({"embed": own.spectral, "size": 3}, "no setting 'size'; known are dimensions"),
        ({"embed": own.spectral, "dimensions": 2.5}, "dimensions is '2.5', expected a whole number"),
    ],
)
def test_what_cannot_be_adapted_is_named(arguments, said):
    if said is None:  # an argument with a default takes the pairs: nobody can know better
        assert mx.adapt(**arguments).name == "learned"
        return
    with pytest.raises(SettingError, match=said):
        mx.adapt(**arguments)


class TestNames:
    def test_settings_are_the_functions_arguments(self):
        model = make_model("tests.models.adapted_own:Spectral")
        assert model.settings == {"dimensions": 3}
        assert make_model("tests.models.adapted_own:Spectral", dimensions=5).settings == {"dimensions": 5}
        assert model.description == "Degrees and shares of neighbours."
        assert repr(model.fit(GRAPH)).startswith("<adapt(embed=spectral, dimensions=3) fitted on ")

    def test_a_seed_is_handed_on(self):
        first, again, other = (make_model("tests.models.adapted_own:Noise", seed=seed).fit(GRAPH) for seed in (1, 1, 2))
        assert np.array_equal(first.vertical, again.vertical)
        assert not np.array_equal(first.vertical, other.vertical)

    @pytest.mark.usefixtures("names")
    def test_registered_it_is_made_saved_and_loaded_by_name(self, tmp_path):
        register_model("mine", own.Spectral)
        register_model("mine", own.Spectral)  # again: as before
        model = make_model("mine").fit(GRAPH)
        again = load_model(model.save(tmp_path / "m.safetensors"))
        assert again.name == "mine"
        assert np.array_equal(again.vertical, model.vertical)
        with pytest.raises(SettingError, match="is taken"):
            register_model("mine", own.Busy)
        with pytest.raises(SettingError, match="is taken"):
            register_model("rules", own.Busy)

    def test_without_a_name_it_is_not_saved(self, tmp_path):
        with pytest.raises(SettingError, match=r"could not be loaded again: give it a name by register_model"):
            own.Spectral.fit(GRAPH).save(tmp_path / "m.safetensors")
        assert not list(tmp_path.iterdir())

    def test_a_loaded_model_does_not_call_the_function(self, tmp_path, monkeypatch):
        path = make_model("tests.models.adapted_own:Spectral").fit(GRAPH).save(tmp_path / "m.safetensors")
        calls = []
        monkeypatch.setattr(np, "stack", lambda *a, **k: calls.append(a))
        load_model(path)
        assert not calls

    @pytest.mark.parametrize("name", ["spectral", "np"])
    def test_what_is_no_model_is_named(self, name):
        with pytest.raises(SettingError, match="is no model, expected a subclass of") as told:
            make_model(f"tests.models.adapted_own:{name}")
        assert ("a function becomes one by" in str(told.value)) == (name == "spectral")
