"""A review in a browser: answered by keys and by mouse, its server killed in between, of a network with hostile ids."""

import os
import re
import subprocess
import sys
import threading

import pytest

from mpxgat.review.decisions import DecisionsFile, standing
from mpxgat.review.queue import make_queue
from mpxgat.review.server import ReviewServer
from mpxgat.review.session import Session
from tests.matching.doubles import TableMatcher
from tests.report.networks import HOSTILE, HOSTILE_LAYERS, network_of

ASKED = "return document.getElementById('rv-main').dataset.pair ?? ''"
NEXT = "return (document.getElementById('rv-main').dataset.pair ?? '') !== arguments[0]"
CALM = "return !document.body.classList.contains('rv-busy') && document.querySelector('.rv-nodes') !== null"
ANSWERS = {"a": "accept", "r": "reject", "s": "skip"}
PROGRAM = """
import sys
from pathlib import Path
from mpxgat.review.server import ReviewServer
from tests.browser.test_review import session

with ReviewServer(session(Path(sys.argv[1]))) as server:
    print(server.address, flush=True)
    server.serve_forever()
"""


def matcher():
    """Hostile ids in two layers, nothing known: each could be each, the surest is the one of the same id."""
    links = [
        (one, layer, other, layer) for layer in HOSTILE_LAYERS for one in HOSTILE for other in HOSTILE if one < other
    ]
    graph = network_of(HOSTILE_LAYERS, links)
    places = [[graph.index(one, layer) for one in HOSTILE] for layer in HOSTILE_LAYERS]
    table = {(u, v): 0.9 - 0.1 * abs(i - j) for i, u in enumerate(places[0]) for j, v in enumerate(places[1])}
    return TableMatcher(graph, table)


MATCHER = matcher()


def session(folder):
    return Session(folder, MATCHER.graph, MATCHER, make_queue(MATCHER, "surest", 0.9), "ann")


@pytest.fixture
def run(tmp_path):
    return tmp_path


class Killable:
    """A server in a process of its own."""

    def __init__(self, run):
        command = [sys.executable, "-c", PROGRAM, str(run)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
        self.address = self.process.stdout.readline().strip()

    def kill(self):
        self.process.kill()
        self.process.wait(20)
        self.process.stdout.close()


@pytest.fixture
def killable(run):
    """Starts servers that can be killed."""
    started = []

    def start():
        started.append(Killable(run))
        return started[-1]

    yield start
    for one in started:
        one.kill()


@pytest.fixture
def server(run):
    with ReviewServer(session(run)) as opened:
        thread = threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


@pytest.fixture
def screen(window):
    """The browser; the page's own server is the only address that it asks for."""
    window.look_like(1280, 800, "light")
    window.forget()
    yield window
    window.driver.get("about:blank")
    assert window.complaints() == []
    assert [one for one in window.requests() if not re.match(r"http://127\.0\.0\.1:\d+/", one)] == []


def visit(browser, server):
    browser.driver.get(server.address)
    browser.wait(CALM)


def press(browser, key):
    """A key, and the pair it was about, once the next one is there."""
    pair = browser.run(ASKED)
    browser.press(key)
    browser.wait(NEXT, pair)
    browser.wait(CALM)
    return tuple(map(int, pair.split("-")))


def kept(run):
    said = DecisionsFile(run, MATCHER.graph).read()
    return {each.pair: each.answer for each in standing(said).values()}


def test_thirty_answers_by_keys_survive_a_killed_server(screen, killable, run):
    server = killable()
    visit(screen, server)
    first = {press(screen, key): ANSWERS[key] for key in "arsrrsrsrrsrrsr"}
    assert kept(run) == first
    server.kill()
    lost = screen.run(ASKED)
    screen.press("r")
    screen.wait("return !document.getElementById('rv-error').hidden")
    assert screen.text("#rv-error").startswith("The server does not answer. Answers before this one are kept")
    assert screen.run(ASKED) == lost  # the pair is still there
    assert all("ERR_CONNECTION_REFUSED" in said for said in screen.complaints())
    visit(screen, killable())
    second = {press(screen, key): ANSWERS[key] for key in "rrsrrsrsrrsrrsr"}
    assert not first.keys() & second.keys()
    assert kept(run) == first | second
    assert len(first | second) == 30
    assert screen.text("#rv-progress").startswith("1 accepted · 19 rejected · 10 skipped · ")


def test_undo_asks_again(screen, server, run):
    visit(screen, server)
    asked = press(screen, "a")
    assert screen.text("#rv-last").startswith("accepted: ")
    press(screen, "u")
    assert tuple(map(int, screen.run(ASKED).split("-"))) == asked
    assert kept(run) == {}
    assert screen.all("#rv-undo")[0].get_attribute("disabled") == "true"
    press(screen, "r")
    assert kept(run) == {asked: "reject"}


def test_by_mouse_with_a_note(screen, server, run):
    visit(screen, server)
    pair = screen.run(ASKED)
    screen.all("#rv-note")[0].send_keys("as are their sars")  # keys that would answer elsewhere
    assert screen.run(ASKED) == pair
    screen.all("#rv-accept")[0].click()
    screen.wait(NEXT, pair)
    (told,) = DecisionsFile(run, MATCHER.graph).read()
    assert (told.answer, told.note, told.who) == ("accept", "as are their sars", "ann")


def test_keys_with_others_held_down_are_the_browsers(screen, server, run):
    visit(screen, server)
    screen.run(
        "for (const held of [{ctrlKey: true}, {metaKey: true}, {altKey: true}, {repeat: true}])"
        " document.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', ...held}))"
    )
    assert kept(run) == {}


@pytest.mark.parametrize(("width", "height", "colours"), [(1280, 800, "light"), (390, 844, "dark")])
def test_ids_that_are_scripts_stay_text(screen, server, run, width, height, colours):
    """An alert would make the browser refuse all further commands."""
    screen.look_like(width, height, colours)
    visit(screen, server)
    seen = set()
    for _ in range(4):
        seen.update(screen.texts(".rv-id"))
        assert screen.texts(".rv-nodes tbody tr:first-child td") == [
            " ".join(layer.split()) for layer in HOSTILE_LAYERS
        ]
        assert screen.all("main img, main script, main b[onclick], main svg svg") == []
        assert screen.run("return document.documentElement.scrollWidth <= innerWidth")
        press(screen, "r")
    assert any(HOSTILE[0] in one for one in seen)
    assert len(screen.all(".ex-drawing")) == 1
    assert screen.texts(".ex-waterfall tbody tr")[-1].startswith("all together")
    screen.screenshot(f"review-{width}")


def test_two_windows_are_asked_about_different_pairs(screen, server):
    visit(screen, server)
    pair = screen.run(ASKED)
    screen.driver.switch_to.new_window("tab")
    try:
        visit(screen, server)
        assert screen.run(ASKED) != pair
    finally:
        screen.driver.close()
        screen.driver.switch_to.window(screen.driver.window_handles[0])
    screen.driver.refresh()
    screen.wait(CALM)
    assert screen.run(ASKED) == pair
