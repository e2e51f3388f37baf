"""What a model must be able to do so that nodes can be matched by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mpxgat.errors import SettingError
from mpxgat.frozen import frozen
from mpxgat.graph import MultiplexGraph


@dataclass(frozen=True, eq=False)
class Candidates:
    """Possible inter links; SettingError if a shape, an order or a probability is wrong.

    pairs           (k, 2) node positions, the first in a lower layer than the second; no pair twice
    probability     (k,) calibrated chance that the two are one unit, all competitors taken into account
    silence         why there are none, if the model could not learn to match; a sentence

    Among equal probabilities the one listed first ranks first, so a matcher lists the better ones first.
    """

    pairs: NDArray[np.int32]
    probability: NDArray[np.float64]
    silence: str = ""

    def __post_init__(self) -> None:
        if self.pairs.shape != (len(self.probability), 2) or self.probability.ndim != 1:
            found = f"{self.pairs.shape} and {self.probability.shape}"
            raise SettingError(f"pairs and probabilities have the shapes {found}, expected (k, 2) and (k,)")
        if (self.pairs[:, 0] >= self.pairs[:, 1]).any():
            raise SettingError("a candidate's first node stands behind its second, expected the lower layer first")
        if not ((self.probability >= 0) & (self.probability <= 1)).all():  # NaN fails as well
            wrong = self.probability[~((self.probability >= 0) & (self.probability <= 1))][0]
            raise SettingError(f"a candidate has the probability {wrong}, expected 0 to 1")
        object.__setattr__(self, "pairs", frozen(self.pairs))
        object.__setattr__(self, "probability", frozen(self.probability))

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True)
class Reason:
    """One bar of a waterfall: what was looked at, what was found, the log-odds it adds."""

    label: str
    finding: str
    contribution: float


@dataclass(frozen=True)
class Explanation:
    """Why a pair has its probability: ``base`` (log-odds before any evidence) and the reasons add up to ``score``."""

    first: int
    second: int
    probability: float
    base: float
    reasons: tuple[Reason, ...]
    score: float


@runtime_checkable
class Matcher(Protocol):
    """A fitted model that knows candidates for the nodes of two layers and can say why."""

    @property
    def graph(self) -> MultiplexGraph:
        """The graph whose nodes are matched."""

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """The best ``k`` partners of every open node of two layers (``layer_a < layer_b``), seen from both sides.

        Never pairs known to be one unit (if only by a chain of links), never pairs that uniqueness forbids.
        """

    def explain(self, first: int, second: int) -> Explanation:
        """Why the pair of two nodes (``first < second``, different layers) has its probability."""
