"""The report of a run in a browser, made of a network whose ids and layers are HTML, script and worse."""

import json

import pytest
from selenium.webdriver.common.keys import Keys

import mpxgat as mx
from mpxgat.report.page import Page, sizes
from mpxgat.report.reports import run_stages, write_report
from mpxgat.splits import held_out_units
from tests.report.conftest import second_fit
from tests.report.networks import HOSTILE, HOSTILE_LAYERS, PROPERTIES, hostile_society, society_of_properties

NAME = "<img src=x onerror=alert(5)> & data"
DRAWN = "return document.documentElement.dataset.charts === 'drawn'"


def written(folder, graph):
    """The page of a model that is fitted quickly."""
    model = mx.Evidence(seed=100, splits=2, trees=20, embeddings="none").fit(graph)
    stages = run_stages(model, NAME, second_fit(model))
    sections = [section for stage in stages for section in stage.sections()]
    return write_report(folder / "report.html", Page(NAME, sections, NAME, sizes(graph)))


@pytest.fixture(scope="session")
def report(tmp_path_factory, window):
    """Only made where there is a browser."""
    graph = held_out_units(hostile_society(people=200, seed=100), seed=100).train
    return written(tmp_path_factory.mktemp("report"), graph)


@pytest.fixture
def at_report(browser, report):
    browser.open(report)
    browser.wait(DRAWN)
    return browser


def test_all_figures_are_drawn(at_report):
    places = at_report.all("[data-figure]")
    assert len(places) >= 8
    for place in places:
        (drawing,) = place.find_elements("css selector", "svg.marks")
        assert drawing.size["width"] > 100
        assert drawing.size["height"] > 50
        assert place.find_elements("css selector", "path, rect, text")


def test_hostile_names_are_text(at_report):
    assert at_report.text("h1") == NAME
    assert at_report.all("img, b[onclick], svg svg[onload], main script") == []
    listed = " ".join(at_report.texts("#matches td"))  # matches by name
    assert HOSTILE_LAYERS[0] in listed
    assert any(node in listed for node in HOSTILE if len(node) < 40)
    assert at_report.run("return document.title") == NAME


def test_every_entry_of_the_contents_leads_to_its_section(at_report):
    anchors = [one.get_attribute("href").partition("#")[2] for one in at_report.all("nav a")]
    assert len(anchors) >= 5
    assert anchors[-1] == "explorer"
    for anchor in anchors:
        assert len(at_report.all(f"section[id='{anchor}']")) == 1


def test_a_node_can_be_searched(at_report):
    at_report.all("#ex-input")[0].send_keys("<script>")
    hits = at_report.texts("#ex-hits li")
    assert len(hits) == 20
    assert hits[0].startswith(HOSTILE[0])
    at_report.all("#ex-input")[0].send_keys(Keys.ENTER)
    at_report.wait("return document.querySelector('.ex-drawing') !== null")
    assert at_report.text(".ex-title").startswith(HOSTILE[0])


def test_other_addresses_leave_the_explorer_alone(at_report):
    at_report.all("#ex-input")[0].send_keys("<script>" + Keys.ENTER)
    at_report.wait("return document.querySelector('.ex-drawing') !== null")
    at_report.click("nav a")
    at_report.wait("return !location.hash.startsWith('#explorer')")
    assert at_report.all(".ex-drawing")


@pytest.fixture(scope="session")
def report_of_properties(tmp_path_factory, window):
    graph = held_out_units(society_of_properties(people=120, seed=100), seed=100).train
    return written(tmp_path_factory.mktemp("properties"), graph)


def test_layers_named_like_properties_of_objects_are_drawn(browser, report_of_properties):
    """As many bars, lines and squares as there are records, under their own names."""
    browser.open(report_of_properties)
    browser.wait(DRAWN)
    labels = "[data-figure='{}'] .role-axis-label text"
    assert set(PROPERTIES) <= set(browser.texts(labels.format("layer-sizes")))
    assert set(PROPERTIES) <= set(browser.texts(labels.format("auc-by-layer")))
    for figure in ("layer-sizes", "auc-by-layer"):
        bars = browser.all(f"[data-figure='{figure}'] .mark-rect.role-mark path")
        assert [bar.size["width"] > 5 for bar in bars] == [True] * 3
    assert browser.texts("[data-figure='degrees'] .role-legend-label text") == list(PROPERTIES)
    lines = browser.all("[data-figure='degrees'] .mark-line path")
    assert [line.size["width"] > 50 for line in lines] == [True] * 3
    for figure in ("overlap", "links-in-common", "auc-by-layer-pair"):
        shown = browser.texts(labels.format(figure))
        assert shown == [*PROPERTIES, *PROPERTIES]
        frame = browser.all(f"[data-figure='{figure}']")[0].rect
        squares = [square.rect for square in browser.all(f"[data-figure='{figure}'] .mark-rect.role-mark path")]
        assert all(square["x"] + square["width"] <= frame["x"] + frame["width"] for square in squares)
    for figure in ("presence", "match-outcomes"):
        rows = json.loads((report_of_properties.parent / "report_data" / f"{figure}.json").read_text())
        bars = browser.all(f"[data-figure='{figure}'] .mark-rect.role-mark path")
        assert len(bars) == len(rows)
        assert any(bar.size["width"] > 5 for bar in bars)


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_explorer_knows_nodes_named_like_properties_of_objects(browser, report_of_properties, name):
    browser.open(report_of_properties, f"#explorer/{name}/{name}")
    browser.wait("return document.querySelector('.ex-drawing') !== null")
    assert browser.text(".ex-title") == f"{name} {name}"
    browser.all("#ex-input")[0].send_keys(name)
    hits = browser.texts("#ex-hits li")
    assert hits
    assert all(hit.startswith(name) for hit in hits)
    browser.all("#ex-input")[0].send_keys(Keys.ENTER)
    assert name in browser.texts(".ex-band title")


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_looks(browser, report, width, colours):
    browser.look_like(width, 900, colours)
    browser.open(report)
    browser.wait(DRAWN)
    too_wide = "return document.documentElement.scrollWidth - innerWidth"
    assert browser.run(too_wide) <= 0
    paper, ink = (
        sum(
            int(part)
            for part in browser.run(f"return getComputedStyle(document.body).{name}").strip("rgb()").split(",")
        )
        for name in ("backgroundColor", "color")
    )
    assert (paper > ink) == (colours == "light")
    browser.screenshot(f"report-{width}-{colours}")


def test_it_can_be_printed(at_report):
    """As one would: what belongs to the screen only is left out."""
    at_report.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not at_report.all("nav")[0].is_displayed()
    assert not at_report.all(".ex-search")[0].is_displayed()
    assert at_report.all("h1")[0].is_displayed()
