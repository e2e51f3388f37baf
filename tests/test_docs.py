"""What the site is made with: the picture, the list of commands, docstrings as Markdown."""

import importlib.util
import re
from pathlib import Path

import pytest

import mpxgat

DOCS = Path(__file__).parents[1] / "docs"


def load(name):
    spec = importlib.util.spec_from_file_location(Path(name).stem, DOCS / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_what_its_program_draws():
    committed = (DOCS / "figures" / "multiplex.svg").read_text(encoding="utf-8")
    assert load("figures/multiplex.py").draw() == committed
    assert len(committed.encode()) < 50_000


@pytest.fixture(scope="module")
def commands():
    return load("hooks/commands.py")


def test_every_command_is_listed_with_its_options(commands):
    from mpxgat.cli.app import app

    text = commands.reference()
    names = [entry.name for entry in app.registered_commands]
    assert len(names) > 10
    for name in names:
        assert f"\n## mpxgat {name}\n" in f"\n{text}"
    assert "\n### mpxgat benchmark paper\n" in text
    train = text.partition("## mpxgat train\n")[2].partition("\n## ")[0]
    assert "<code>-o, --output RUN</code> | The folder to keep the run in. \\[required\\] |" in train


def test_only_the_page_with_the_mark_is_changed(commands):
    assert commands.on_page_markdown("other page") == "other page"
    assert "## mpxgat info" in commands.on_page_markdown(f"# Commands\n\n{commands.MARK}\n")
    assert commands.MARK in (DOCS / "commands.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def as_markdown():
    return load("hooks/docstrings.py").as_markdown


def test_two_columns_become_a_list(as_markdown):
    text = "Head:\nintra, inter    (m, 2) links\n                as positions\n*_weight  (m,)\n\nEnd of it."
    assert as_markdown(text) == "Head:\n\n- `intra, inter`: (m, 2) links as positions\n- `*_weight`: (m,)\n\nEnd of it."


def test_examples_become_blocks(as_markdown):
    text = "Text.\n\n>>> one = 1\n>>> one\n1\n\nMore."
    assert as_markdown(text) == "Text.\n\n\n```pycon\n>>> one = 1\n>>> one\n1\n```\n\n\nMore."


def test_sentences_and_equations_stay(as_markdown):
    text = "A sentence.\n\n    s_i  = W_i h_i\n\nAnother, longer one\nover two lines."
    assert as_markdown(text) == text


def test_every_public_name_stands_in_the_reference():
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`mx\.(\w+)`", page))
    assert named == set(mpxgat.__all__)


def test_every_page_is_in_the_navigation():
    # MkDocs says so as well, but only when the site is built.
    nav = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    pages = re.findall(r"(\S+\.md)$", nav, re.MULTILINE)
    assert sorted(pages) == sorted(set(pages))
    assert {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} == set(pages)
