"""A review: which pair a window is asked about next, and what becomes of the answer. All of it is in the run's folder.

Several windows and several processes may review one run. Whoever asks for a pair reads the decisions again, and is not
offered a pair that another one has been offered within some minutes (``.review-offers.json``, which may be lost).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.files import write_files
from mpxgat.matching.match import Matcher
from mpxgat.review.decisions import (
    ACCEPT,
    RANDOM,
    REJECT,
    SKIP,
    UNDO,
    Decision,
    DecisionsFile,
    Pair,
    drawn,
    samples,
    standing,
)
from mpxgat.review.picture import picture
from mpxgat.review.queue import Queue
from mpxgat.review.settled import Settled, Units, check_new

_OFFERS = ".review-offers.json"
_OFFER_SECONDS = 600
_MOST_RIVALS = 3
_MOST_NOTE = 2000
_GONE = "this pair is no longer asked about in this window"


@dataclass(frozen=True)
class Offer:
    """A pair that a window was given, and how it came to be asked about."""

    pair: Pair
    order: str
    threshold: float | None
    probability: float | None


class Session:
    """A review of a run by one process; methods may be called by several threads.

    graph       the run's, before any decision
    matcher     explains pairs; on the same nodes
    who         answers, as the file will say
    """

    def __init__(self, run: Path, graph: MultiplexGraph, matcher: Matcher, queue: Queue, who: str):
        self.queue = queue
        self._matcher, self._who = matcher, who
        self._file = DecisionsFile(run, graph)
        self._offers_path = run / _OFFERS
        self._units = Units(graph)
        self._offered: dict[str, Offer] = {}
        self._threads = threading.Lock()

    # ---- what a window asks for ------------------------------------------------------------------------

    def question(self, window: str) -> dict[str, Any]:
        """The next pair with all that is shown of it and the progress; no pair if none is left."""
        with self._threads, self._file.locked():
            return self._next(window)

    def answer(self, window: str, pair: Pair, answer: str, note: str = "") -> dict[str, Any]:
        """Keep an answer, then the next question. SettingError if it cannot be one, and nothing is kept."""
        if answer not in (ACCEPT, REJECT, SKIP):
            raise SettingError(f"the answer is {quoted(answer)}, expected accept, reject or skip")
        with self._threads, self._file.locked():
            offer = self._offered.get(window)
            if offer is None or offer.pair != pair:
                raise SettingError(_GONE)
            decision = Decision(answer=answer, who=self._who, note=note[:_MOST_NOTE], **asdict(offer))
            check_new(self._units, standing(self._file.read()), decision)
            self._file.append(decision)
            return self._next(window)

    def undo(self, window: str, pair: Pair) -> dict[str, Any]:
        """Take back what was said of a pair and ask about it again; SettingError if nothing was."""
        with self._threads, self._file.locked():
            latest = standing(self._file.read())
            if pair not in latest:
                raise SettingError("nothing is said of this pair any more")
            was = latest.pop(pair)
            self._file.append(replace(was, answer=UNDO, who=self._who, note="", when=""))
            return self._ask(window, Offer(pair, was.order, was.threshold, was.probability))

    def summary(self) -> str:
        """How many answers there are, and what a random sample says; for the end."""
        latest = standing(self._file.read())
        counts = ", ".join(f"{number} {what}" for what, number in _counts(latest).items())
        return "; ".join([f"{counts}, kept in {self._file.path}", *map(str, samples(self._file.read()))])

    # ---- which pair ------------------------------------------------------------------------------------

    def _next(self, window: str) -> dict[str, Any]:
        """Ask about the first pair of the queue that is open and not before another window."""
        decisions = self._file.read()
        latest = standing(decisions)
        settled = Settled(self._units, latest.values(), self._file.path)
        answered = drawn(decisions) if self.queue.order == RANDOM else latest
        elsewhere = {tuple(each["pair"]) for name, each in self._offers().items() if name != window}
        left, found = 0, None
        for place, (first, second) in enumerate(self.queue.pairs.tolist()):
            pair = (first, second)
            if pair in answered or (self.queue.order != RANDOM and settled.status(pair) is not None):
                continue
            left += 1
            if found is None and pair not in elsewhere:
                found = place
        if found is None:
            self._offered.pop(window, None)
            self._write_offer(window, None)
            return {"question": None, "elsewhere": left, "progress": self._progress(decisions, left)}
        first, second = self.queue.pairs[found].tolist()
        offer = Offer((first, second), self.queue.order, self.queue.threshold, float(self.queue.probability[found]))
        return self._ask(window, offer, left)

    def _ask(self, window: str, offer: Offer, left: int | None = None) -> dict[str, Any]:
        decisions = self._file.read()
        latest = standing(decisions)
        settled = Settled(self._units, latest.values(), self._file.path)
        self._offered[window] = offer
        self._write_offer(window, offer.pair)
        explanation = self._matcher.explain(*offer.pair)
        probability = explanation.probability if offer.probability is None else offer.probability
        question = {
            "pair": offer.pair,
            "probability": probability,
            "settled": settled.status(offer.pair),
            "rivals": self._rivals(offer.pair, settled),
            **picture(self._matcher.graph, settled, offer.pair, probability, explanation),
        }
        return {"question": question, "progress": self._progress(decisions, left)}

    def _rivals(self, pair: Pair, settled: Settled) -> list[dict[str, Any]]:
        """Other open pairs of either node with a node of the same layer, the most probable first."""
        layer = self._matcher.graph.node_layer
        found = []
        for side, node in enumerate(pair):
            rows = np.flatnonzero((self.queue.pairs == node).any(axis=1))
            others = self.queue.pairs[rows].sum(axis=1) - node
            rival = (layer[others] == layer[pair[1 - side]]) & (others != pair[1 - side])
            best = sorted(zip(-self.queue.probability[rows[rival]], others[rival].tolist(), strict=True))
            still = [each for each in best if settled.status((min(node, each[1]), max(node, each[1]))) is None]
            for chance, other in still[:_MOST_RIVALS]:
                found.append({"side": side, "id": self._units.graph.nodes[other].id, "probability": -float(chance)})
        return found

    def _progress(self, decisions: list[Decision], left: int | None) -> dict[str, Any]:
        latest = standing(decisions)
        mine = next((each for each in reversed(latest.values()) if each.who == self._who), None)
        nodes = self._units.graph.nodes
        undo = mine and {
            "pair": mine.pair,
            "answer": mine.answer,
            "names": [nodes[node].id for node in mine.pair],
        }
        return {
            "order": self.queue.order,
            "left": left,
            "counts": _counts(latest),
            "samples": [each.to_record() for each in samples(decisions)],
            "undo": undo,
        }

    # ---- offers, so that nobody is asked what another one is looking at ----------------------------------

    def _offers(self) -> dict[str, Any]:
        """What windows have been offered, of late; nothing if the file is lost or damaged."""
        try:
            offers = json.loads(self._offers_path.read_bytes())
            return {
                str(name): {"pair": [int(node) for node in each["pair"]], "until": float(each["until"])}
                for name, each in offers.items()
                if float(each["until"]) > time.time()
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}

    def _write_offer(self, window: str, pair: Pair | None) -> None:
        offers = self._offers()
        offers.pop(window, None)
        if pair is not None:
            offers[window] = {"pair": pair, "until": time.time() + _OFFER_SECONDS}
        write_files({self._offers_path: json.dumps(offers).encode()})


def _counts(latest: Mapping[Pair, Decision]) -> dict[str, int]:
    answers = [each.answer for each in latest.values()]
    return {"accepted": answers.count(ACCEPT), "rejected": answers.count(REJECT), "skipped": answers.count(SKIP)}
