"""The report of a run in a browser, made of a network whose ids and layers are HTML, script and worse."""

import pytest
from selenium.webdriver.common.keys import Keys

import mpxgat as mx
from mpxgat.report.curves import fit_again
from mpxgat.report.page import lead, sizes
from mpxgat.report.reports import run_stages, write_report
from mpxgat.splits import held_out_units, validation_split
from tests.report.networks import HOSTILE, HOSTILE_LAYERS, hostile_society

NAME = "<img src=x onerror=alert(5)> & data"
DRAWN = "return document.documentElement.dataset.charts === 'drawn'"


@pytest.fixture(scope="session")
def report(tmp_path_factory, window):
    """The page of a quick judge; only made where there is a browser."""
    graph = held_out_units(hostile_society(people=200, seed=100), seed=100).train
    model = mx.Evidence(seed=100, splits=2, trees=20, embeddings="none").fit(graph)
    held_out = fit_again(model, validation_split(graph, "marked", 100))
    sections = [made for stage in run_stages(model, NAME, held_out) for made in stage.make()]
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(path, NAME, lead(NAME, sizes(graph)), sections)


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
