"""constraints.txt, and the script that writes it."""

import importlib.metadata
import importlib.util
import json
import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
# What a CUDA build of torch brings along is not pinned.
CUDA = re.compile(r"(nvidia|cuda)-|triton$")


@pytest.fixture(scope="module")
def pins():
    spec = importlib.util.spec_from_file_location("pins", ROOT / "scripts" / "pins.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pinned(pins):
    return pins.read_pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))


def needed_by(name, extras, normal):
    """Normal names of the distributions that this environment needs for name[extras], by what is installed."""
    seen, todo = set(), [(name, extra) for extra in ("", *extras)]
    while todo:
        name, extra = todo.pop()
        if (normal(name), extra) in seen:
            continue
        seen.add((normal(name), extra))
        for line in importlib.metadata.requires(name) or []:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                todo += [(requirement.name, wish) for wish in ("", *requirement.extras)]
    return {name for name, _ in seen}


def test_everything_that_development_installs_is_pinned(pins, pinned):
    needed = needed_by("mpxgat", ["dev"], pins.normal) - {"mpxgat"}
    assert len(needed) > 100
    assert {name for name in needed if not CUDA.match(name)} <= pinned.keys(), "run `make pins`"


def test_pins_are_within_the_ranges_that_the_package_asks_for(pins, pinned):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lists = [project["build-system"]["requires"], project["project"]["dependencies"]]
    lists += project["project"]["optional-dependencies"].values()
    for requirement in map(Requirement, chain.from_iterable(lists)):
        if requirement.name != "mpxgat":
            assert Version(pinned[pins.normal(requirement.name)]) in requirement.specifier, requirement


def test_the_file_is_as_the_script_writes_it(pins, pinned):
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert text.startswith(pins.HEAD)
    installed, build = text.partition(pins.INSTALLED)[2].split(pins.BUILD)
    assert installed.strip() + "\n" == pins.lines(pins.read_pins(installed))
    assert build.strip() + "\n" == pins.lines(pins.read_pins(build))
    assert not any(CUDA.match(name) or "+" in version for name, version in pinned.items())


def test_comments_markers_and_spellings_are_read(pins):
    text = "# old==1\nPy_YAML==6.0\nuunet==2.2.1; python_version < '3.13'\ntyper==0.29.0  # why\nranged>=1\n"
    assert pins.read_pins(text) == {"py-yaml": "6.0", "uunet": "2.2.1", "typer": "0.29.0"}


def test_what_is_not_upgraded_stays(pins):
    before = {"torch": "2.0", "ray": "2.0", "tqdm": "4.0"}
    assert pins.kept(before, []) == before
    assert pins.kept(before, ["Ray"]) == {"torch": "2.0", "tqdm": "4.0"}
    assert pins.kept(before, ["all"]) == {"torch": "2.0"}
    assert pins.kept(before, ["all", "torch"]) == {}
    with pytest.raises(SystemExit, match="no pin of nothing"):
        pins.kept(before, ["nothing"])


def test_what_pip_resolves_becomes_pins(pins, monkeypatch):
    def run(command, cwd, check):
        assert Path(command[command.index("--constraint") + 1]).read_text(encoding="utf-8") == "ray==2.0\n"
        assert command[-1] == ".[dev]"
        found = [("mpxgat", "0.1.0"), ("torch", "2.13.0+cpu"), ("PyYAML", "6.0.3")]
        report = {"install": [{"metadata": {"name": name, "version": version}} for name, version in found]}
        Path(command[command.index("--report") + 1]).write_text(json.dumps(report), encoding="utf-8")

    monkeypatch.setattr(pins.subprocess, "run", run)
    assert pins.resolve([".[dev]"], {"ray": "2.0"}) == {"torch": "2.13.0", "pyyaml": "6.0.3"}
