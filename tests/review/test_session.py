"""A review: what is asked about, what answers do, several windows, several processes."""

import pytest

from mpxgat.errors import InputError, SettingError
from mpxgat.matching.match import match_all
from mpxgat.review.applied import Reviewed, with_graph
from mpxgat.review.decisions import DecisionsFile, standing
from mpxgat.review.queue import make_queue
from mpxgat.review.session import Session
from tests.report.networks import people

MATCHER = people()
GRAPH = MATCHER.graph
BOB_F, BOB_W, BOBBY, BOB_M = (
    GRAPH.index(*node) for node in (("bob-f", "friends"), ("bob-w", "work"), ("bobby-w", "work"), ("bob-m", "mail"))
)
FIRST, SECOND, THIRD = (BOB_F, BOB_W), (BOB_F, BOB_M), (BOB_F, BOBBY)  # the surest first


@pytest.fixture
def session(tmp_path):
    return made(tmp_path)


def made(folder, order="surest", threshold=0.5, who="ann"):
    return Session(folder, GRAPH, MATCHER, make_queue(MATCHER, order, threshold), who)


def pair(reply):
    return reply["question"] and tuple(reply["question"]["pair"])


def kept(folder):
    return {each.pair: each.answer for each in standing(DecisionsFile(folder, GRAPH).read()).values()}


def test_an_answer_leads_to_the_next_open_pair(session, tmp_path):
    asked = session.question("w")
    assert pair(asked) == FIRST
    assert asked["progress"]["left"] == 3
    asked = session.answer("w", FIRST, "accept")
    assert pair(asked) == SECOND  # bobby is settled now, in the layer of bob-w
    assert asked["progress"]["left"] == 1
    assert asked["progress"]["counts"] == {"accepted": 1, "rejected": 0, "skipped": 0}
    asked = session.answer("w", SECOND, "reject", "other birthday")
    assert asked["question"] is None
    assert kept(tmp_path) == {FIRST: "accept", SECOND: "reject"}
    (_, last) = DecisionsFile(tmp_path, GRAPH).read()
    assert (last.order, last.probability, last.who, last.note) == ("surest", 0.6, "ann", "other birthday")
    assert last.when


def test_what_is_shown_of_a_pair(session):
    asked = session.question("w")["question"]
    one, other = asked["nodes"]
    assert (one["id"], one["layer"], one["neighbours"]) == ("bob-f", "friends", 3)
    assert other["id"] == "bob-w"
    assert asked["probability"] == 0.93
    assert asked["settled"] is None
    assert asked["rivals"] == [{"side": 0, "id": "bobby-w", "probability": 0.05}]
    network = asked["network"]
    assert network["layers"] == ["friends", "work"]
    assert sorted(network["ids"]) == ["ann-f", "ann-w", "ben-f", "ben-w", "bob-f", "bob-w", "cat-f", "cat-w"]
    assert network["ids"][asked["node"]] == "bob-f"
    assert "the table" in network["candidates"]["labels"]


def test_a_skipped_pair_is_not_asked_about_again_and_an_undo_brings_it_back(session, tmp_path):
    session.question("w")
    asked = session.answer("w", FIRST, "skip")
    assert pair(asked) == SECOND
    assert asked["progress"]["undo"]["pair"] == FIRST
    asked = session.undo("w", FIRST)
    assert pair(asked) == FIRST
    assert asked["progress"]["undo"] is None
    assert kept(tmp_path) == {}
    assert pair(session.answer("w", FIRST, "reject")) == SECOND
    assert [each.answer for each in DecisionsFile(tmp_path, GRAPH).read()] == ["skip", "undo", "reject"]
    with pytest.raises(SettingError, match="nothing is said of this pair any more"):
        session.undo("w", SECOND)


def test_only_ones_own_answers_are_offered_to_be_undone(session, tmp_path):
    session.question("w")
    session.answer("w", FIRST, "reject")
    assert made(tmp_path, who="bea").question("v")["progress"]["undo"] is None


class TestSeveral:
    @pytest.fixture(params=["windows", "processes"])
    def other(self, request, session, tmp_path):
        return session if request.param == "windows" else made(tmp_path, who="bea")

    def test_they_are_not_given_the_same_pair(self, session, other):
        assert pair(session.question("v")) == FIRST
        assert pair(other.question("w")) == SECOND
        assert pair(session.question("v")) == FIRST  # a reload changes nothing
        assert pair(other.question("u")) == THIRD
        last = other.question("t")
        assert (last["question"], last["elsewhere"]) == (None, 3)
        assert pair(other.answer("w", SECOND, "reject")) is None
        session.answer("v", FIRST, "reject")

    def test_a_pair_is_free_again_after_a_while(self, session, other, monkeypatch):
        session.question("v")
        monkeypatch.setattr("mpxgat.review.session._OFFER_SECONDS", -1)
        session.question("v")
        assert pair(other.question("w")) == FIRST

    def test_a_lost_or_damaged_list_of_offers_does_not_matter(self, session, other, tmp_path):
        session.question("v")
        (tmp_path / ".review-offers.json").write_text('{"v": [1')
        assert pair(other.question("w")) == FIRST
        session.answer("v", FIRST, "accept")

    def test_an_answer_that_contradicts_another_one_is_refused(self, session, other, tmp_path):
        session.question("v")
        other.question("w")
        other.question("u")
        session.answer("v", FIRST, "accept")
        with pytest.raises(SettingError, match=r"'bob-f' \(.*\) and 'bobby-w' \(.*\) are different"):
            other.answer("u", THIRD, "accept")
        assert kept(tmp_path) == {FIRST: "accept"}

    def test_of_a_pair_that_was_settled_meanwhile_the_next_question_says_nothing(self, session, other):
        session.question("v")
        other.question("w")
        session.answer("v", FIRST, "accept")
        assert pair(other.answer("w", SECOND, "accept")) is None


@pytest.mark.parametrize(
    ("asked", "answer", "said"),
    [(FIRST, "maybe", "the answer is 'maybe'"), (SECOND, "accept", "no longer asked about in this window")],
)
def test_what_is_no_answer(session, tmp_path, asked, answer, said):
    session.question("w")
    with pytest.raises(SettingError, match=said):
        session.answer("w", asked, answer)
    with pytest.raises(SettingError, match="no longer asked"):
        session.answer("another", FIRST, "accept")
    assert kept(tmp_path) == {}


class TestSample:
    def test_pairs_that_were_decided_in_another_order_are_asked_about_too(self, session, tmp_path):
        session.question("w")
        session.answer("w", FIRST, "accept")
        sample = made(tmp_path, "random", 0.9)
        asked = sample.question("w")
        assert pair(asked) == FIRST
        assert asked["question"]["settled"] == "same"
        done = sample.answer("w", FIRST, "accept")
        assert done["question"] is None
        (found,) = done["progress"]["samples"]
        assert (found["accepted"], found["reviewed"], found["threshold"]) == (1, 1, 0.9)
        assert "1 accepted, 0 rejected, 0 skipped" in sample.summary()
        assert "precision of the run's matches at threshold 0.9: 100.0%" in sample.summary()

    def test_an_undone_answer_keeps_its_order(self, tmp_path):
        sample = made(tmp_path, "random", 0.9)
        sample.question("w")
        sample.answer("w", FIRST, "accept")
        other = made(tmp_path, "surest")
        other.undo("w", FIRST)
        other.answer("w", FIRST, "reject")
        assert [(each.order, each.threshold) for each in DecisionsFile(tmp_path, GRAPH).read()] == [("random", 0.9)] * 3


def test_a_contradiction_made_by_hand_is_told(session, tmp_path):
    session.question("w")
    session.answer("w", FIRST, "accept")
    path = tmp_path / "decisions.csv"
    path.write_text(path.read_text() + path.read_text().splitlines()[1].replace("bob-w", "bobby-w") + "\n")
    with pytest.raises(InputError, match=r"3: 'bob-f' .* are accepted, but with the other decisions"):
        session.question("w")


def test_decisions_at_work(session, tmp_path):
    assert match_all(MATCHER, 0.5).pairs.tolist() == [[BOB_F, BOB_W], [BOB_F, BOB_M], [BOB_W, BOB_M]]
    assert not Reviewed.of(tmp_path, GRAPH)
    session.question("w")
    session.answer("w", FIRST, "accept")
    session.answer("w", SECOND, "reject")
    reviewed = Reviewed.of(tmp_path, GRAPH)
    assert (reviewed.accepted, reviewed.rejected) == (1, 1)
    moved = with_graph(MATCHER, reviewed.graph)  # it has no `extend`
    assert match_all(moved, 0.5).pairs.tolist() == []
    assert moved.explain(*FIRST) == MATCHER.explain(*FIRST)
