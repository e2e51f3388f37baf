"""The page: whole, offline, and nothing in it can be taken for HTML."""

import json
import re
from html.parser import HTMLParser

import pytest

from mpxgat.errors import SettingError
from mpxgat.report.page import Figure, Fragment, Page, Section, Table
from tests.report.networks import HOSTILE


class Reader(HTMLParser):
    """Elements with their attributes, texts of cells, and the content of data elements, as a browser sees them."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.data, self.cells, self._inside, self._in_cell = [], {}, [], None, False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.elements.append((tag, found))
        self._inside = found.get("id") if found.get("type") == "application/json" else tag
        if tag == "td":
            self.cells.append("")
            self._in_cell = True

    def handle_endtag(self, tag):
        self._inside = None
        self._in_cell = self._in_cell and tag != "td"

    def handle_data(self, text):
        if self._in_cell:
            self.cells[-1] += text
        elif self._inside is not None and self._inside.endswith("-data"):
            self.data[self._inside] = self.data.get(self._inside, "") + text


def made(**more):
    section = Section("one", "The <first>", fragment=Fragment("<p>text</p>", **more))
    return Page("A <title> & more", [section]).html()


@pytest.mark.parametrize("text", [*HOSTILE, "]]>", "\u2028\u2029", "\\u003c", "half \ud83d of one"])
def test_data_come_back_and_stay_text(text):
    page = made(data={text: [text]})
    read = Reader(page)
    assert json.loads(read.data["one-data"]) == {text: [text]}
    assert [tag for tag, _ in read.elements].count("script") == 2  # the data and the page's own
    assert not {"img", "svg"} & {tag for tag, _ in read.elements}
    assert page.encode()  # can be written as UTF-8


def test_titles_are_escaped():
    read = made()
    assert "A &lt;title&gt; &amp; more" in read
    assert "<first>" not in read


@pytest.mark.parametrize("text", [text for text in HOSTILE if "\r" not in text])
def test_texts_of_a_section_are_text(text):
    table = Table("matches", text, [{"node": text, "probability": 0.5, "right": True, "none": None}])
    page = Page(text, [Section("one", text, text, tables=[table])], text, {text: text}).html()
    read = Reader(page)
    assert read.cells == [text, "0.500", "yes", "–"]
    plain = Page("t", [Section("one", "t", "t", tables=[Table("t", "t", table.rows)])], "t", {"t": "t"}).html()
    assert [tag for tag, _ in read.elements] == [tag for tag, _ in Reader(plain).elements]
    assert {name for _, found in read.elements for name in found} == {
        name for _, found in Reader(plain).elements for name in found
    }


def test_a_figure_says_what_it_shows(monkeypatch):
    monkeypatch.setattr("mpxgat.report.charts.chart_script", lambda: "")
    figure = Figure("f", "<b>", '"&', [{"a": "</script>"}], {"height": 10, "mark": "bar"})
    read = Reader(Page("t", [Section("one", "t", figures=[figure])]).html())
    (place,) = [found for _, found in read.elements if found.get("data-figure") == "f"]
    assert place["aria-label"] == '<b>. "&'
    assert json.loads(read.data["one-data"])["figures"]["f"]["rows"] == [{"a": "</script>"}]


def test_nothing_is_fetched():
    text = made(script="pageData('one');", style=".x { color: red }", data={"a": 1})
    loads = [value for _, found in Reader(text).elements for name, value in found.items() if name in ("src", "href")]
    assert all(value.startswith(("#", "data:")) for value in loads)
    assert not re.search(r"url\(|@import|https?://|fetch\(|XMLHttpRequest", text)
    assert "default-src 'none'" in text
    assert "connect-src" not in text


def test_styles_and_scripts_are_there_once_and_the_same_bytes_come_out():
    fragment = Fragment("", style=".once {}", script="once();")
    page = Page("t", [Section(name, name, fragment=fragment) for name in ("one", "two")])
    text = page.html()
    assert text.count(".once {}") == text.count("once();") == 1
    assert text == page.html()
    assert 'href="#two"' in text
    assert '<section id="two"' in text


@pytest.mark.parametrize("anchors", [("A",), ("a b",), ("",), ("a", "a"), ("1",)])
def test_anchors_are_checked(anchors):
    with pytest.raises(SettingError, match="anchor"):
        Page("t", [Section(anchor, "t") for anchor in anchors]).html()


def test_a_script_cannot_end_its_element():
    with pytest.raises(SettingError, match="end of its element"):
        made(script="const x = '</SCRIPT>';")
