"""`mpxgat models`."""

import json
import sys

import pytest

from mpxgat.errors import SettingError
from mpxgat.models import make_model, model_names
from tests.cli.runs import run


@pytest.fixture(scope="module")
def listed():
    return {model["name"]: model for model in json.loads(run("models", "--json").stdout)["models"]}


def test_all_models_are_listed_with_what_each_is_for(listed):
    assert tuple(listed) == model_names()
    assert all(model["description"] for model in listed.values())
    shown = run("models").stdout
    assert all(name in shown for name in model_names())


def test_every_setting_has_its_default_and_a_meaning(listed):
    for name, model in listed.items():
        settings = {setting["name"]: setting for setting in model["settings"]}
        made = make_model(name)
        assert settings.keys() >= made.settings.keys()
        assert {key: settings[key]["default"] for key in made.settings} == made.settings
        assert not [key for key, setting in settings.items() if not setting["meaning"] or not setting["kind"]], name
        assert "seed" not in settings


def test_what_a_name_stands_for_is_no_setting(listed):
    settings = [setting["name"] for setting in listed["gat"]["settings"]]
    assert "vertical" not in settings
    assert "horizontal" in settings


def test_one_model_on_a_page(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("models", "graphsage")
    assert "check_every, patience" in shown.stdout
    assert "neighbours drawn for the first block" in " ".join(shown.stdout.split())
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "has no settings" in run("models", "rules").stderr
    assert isinstance(run("models", "sage").exception, SettingError)


def test_a_model_of_ones_own_is_shown_by_its_docstrings(tmp_path, monkeypatch):
    (tmp_path / "own_listed.py").write_text(
        "import mpxgat as mx\n\n\n"
        "def degrees(graph, power=0.5, centred=False):\n"
        '    """Degrees as vectors.\n\n    power       of the degree,\n                any number\n    """\n'
        "    return graph.degree[:, None] ** power\n\n\n"
        "Degrees = mx.adapt(embed=degrees)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    found = json.loads(run("models", "own_listed:Degrees", "--json").stdout)
    assert found["description"] == "Degrees as vectors."
    assert found["settings"] == [
        {"name": "power", "default": 0.5, "kind": "number", "meaning": "of the degree, any number"},
        {"name": "centred", "default": False, "kind": "true or false", "meaning": ""},
    ]
    sys.modules.pop("own_listed")
