"""Models by name, their arguments, and what users bring of their own."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
import torch

import mpxgat as mx
from mpxgat.errors import InputError, SettingError
from mpxgat.models import base, load_model, make_model, model_class, model_names, register_model
from mpxgat.models.anchored import Anchored, AnchoredSettings
from mpxgat.models.gatne import GATNE, GATNESettings
from mpxgat.models.mpxgat import MPXGAT, MPXGATSettings
from mpxgat.models.sage import GraphSAGE, SageSettings
from tests.examples import random_graph
from tests.models.own import BothEnds, Constant, Gate

SMALL = {"hidden": 8, "out": 6, "heads": 2, "epochs": 10, "check_every": 5}
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize(
    ("cls", "settings"),
    [(MPXGAT, MPXGATSettings), (Anchored, AnchoredSettings), (GATNE, GATNESettings), (GraphSAGE, SageSettings)],
)
def test_arguments_and_defaults_are_in_the_signature(cls, settings):
    parameters = inspect.signature(cls).parameters
    assert list(parameters) == [*(field.name for field in fields(settings)), "seed"]
    assert {name: parameters[name].default for name in parameters if name != "seed"} == vars(settings())


def test_a_model_in_one_line():
    model = MPXGAT(hidden=16, seed=3)
    assert repr(model) == "MPXGAT(hidden=16, seed=3)"
    assert model.get_params()["hidden"] == 16
    assert model.get_params()["seed"] == 3
    assert repr(make_model("rules").fit(random_graph(1))).startswith("<Rules() fitted on ")
    assert eval(repr(model), {"MPXGAT": MPXGAT}).get_params() == model.get_params()  # noqa: S307


def test_models_without_vectors_say_so():
    with pytest.raises(SettingError, match="'rules' has no vectors"):
        make_model("rules").fit(random_graph(1)).embeddings()


class TestOwnModel:
    @pytest.fixture(autouse=True)
    def as_before(self, monkeypatch):
        monkeypatch.setattr(base, "_REGISTERED", dict(base._REGISTERED))

    def test_registered_it_is_made_saved_and_loaded_by_name(self, tmp_path):
        mx.register_model("constant", Constant)
        assert "constant" in model_names()
        model = make_model("constant", value=0.25).fit(random_graph(1))
        assert load_model(model.save(tmp_path / "m")).name == "constant"
        register_model("constant", Constant)  # again: as before

    def test_named_by_its_place_it_needs_no_registration(self):
        assert model_class("tests.models.own:Constant") is Constant
        assert make_model("tests.models.own:Constant", value=2.0).value == 2.0

    @pytest.mark.parametrize(
        "name", ["tests.models.own:BothEnds", "tests.models.own:None", "no.such:Thing", "a:b:c", ":"]
    )
    def test_what_is_no_model_is_named(self, name):
        with pytest.raises(SettingError, match=r"cannot import|is no model"):
            make_model(name)

    @pytest.mark.parametrize("name", ["rules", "a:b"])
    def test_names_that_are_taken(self, name):
        with pytest.raises(SettingError, match="is taken"):
            register_model(name, Constant)

    def test_only_models_are_registered(self):
        with pytest.raises(SettingError, match="is no model"):
            register_model("dictionary", dict)


class TestOwnFunctions:
    def test_trained_saved_and_loaded_by_name(self, tmp_path):
        graph = random_graph(3)
        model = MPXGAT(f=BothEnds, g=Gate, seed=1, **SMALL).fit(graph)
        assert model.settings["f"] == "tests.models.own:BothEnds"
        plain = MPXGAT(seed=1, **SMALL).fit(graph)
        assert not np.array_equal(model.vertical, plain.vertical)
        start = model._parts[-1].new_net().state_dict()
        for name in ("blocks.0.f.A", "blocks.2.g.c"):
            assert not torch.equal(model._parameters[-1][name], start[name]), f"{name} was not learned"
        again = load_model(model.save(tmp_path / "m.safetensors"))
        assert np.array_equal(again.vertical, model.vertical)
        part, net = again.vertical_network()
        assert np.array_equal(part.embed(net), model.vertical)
        assert again.beta == [[], [], []]

    def test_a_file_does_not_decide_what_is_imported(self, tmp_path):
        path = MPXGAT(f=BothEnds, seed=1, **SMALL).fit(random_graph(3)).save(tmp_path / "m.safetensors")
        program = (
            "import sys, mpxgat as mx\n"
            "from mpxgat.errors import InputError\n"
            f"try: mx.load_model({str(path)!r})\n"
            "except InputError as problem: print(problem)\n"
            "print('tests.models.own' in sys.modules)\n"
            "import tests.models.own\n"
            f"print(mx.load_model({str(path)!r}))\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        refused, imported, loaded = done.stdout.splitlines()
        assert "import tests.models.own first if you trust it" in refused
        assert imported == "False"
        assert loaded.startswith("<MPXGAT(")

    def test_what_cannot_be_found_again_is_refused(self):
        class Inside(BothEnds):
            pass

        with pytest.raises(SettingError, match="cannot be found by name"):
            MPXGAT(f=Inside)
        with pytest.raises(SettingError, match=r"cannot import 'no\.such:Thing'"):
            MPXGAT(g="no.such:Thing").fit(random_graph(1))


def test_outcomes_in_a_file_are_bounded(tmp_path):
    model = MPXGAT(seed=1, **SMALL).fit(random_graph(3))
    label = next(iter(model._outcomes))
    object.__setattr__(model._outcomes[label], "best_value", 7.5)
    with pytest.raises(InputError, match=r"best value of 7\.5"):
        load_model(model.save(tmp_path / "m.safetensors"))
