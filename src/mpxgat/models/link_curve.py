"""How likely an unlinked pair of one layer is a link that the data lack.

How many links are missing, a graph does not say: a pair that looks like a link and is none may be missing, or may just
look so. So a share is assumed, by default the one that the protocol ``marked`` hides, and everything else is measured.
Links that were hidden again tell which scores missing links get; a sample of the open pairs tells how many pairs get
such scores. The probability at a score is the first over the second: how many missing links are expected there, over
how many pairs there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpxgat.errors import SettingError
from mpxgat.graph import frozen
from mpxgat.matching.calibration import Isotonic
from mpxgat.splits import INTRA_SHARE, MARKED_SHARE

Numbers = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

MISSING = round(MARKED_SHARE**2 * INTRA_SHARE, 6)  # of the links that are known: what `marked` hides
_FEWEST = 30  # hidden links without which there is no curve
_MOST = 0.99  # probability: more cannot be said where the number of missing links is assumed
_BINS, _LEAST = 10, 0.01  # of reliability; millions of pairs about which nothing is claimed would hide the others


@dataclass(frozen=True, eq=False)
class LinkCurve:
    """From scores to probabilities.

    expected        m / (m + n) at a score, where m links are expected missing and n pairs are open: finite for n = 0
    reliability     (3, 10) of ten bins of probability, each learned on one half of the links and pairs and measured on
                    the other: pairs, sum of their probabilities, missing links expected
    """

    expected: Isotonic
    reliability: Numbers

    def __post_init__(self) -> None:
        fits = self.reliability.shape == (3, _BINS) and self.reliability.dtype == np.float64
        if not fits or not np.isfinite(self.reliability).all() or (self.reliability < 0).any():
            raise SettingError(f"the reliability of a curve is damaged, expected 3 rows of {_BINS} numbers from 0 on")
        object.__setattr__(self, "reliability", frozen(self.reliability))

    @classmethod
    def fit(cls, hidden: ArrayLike, scores: ArrayLike, weight: ArrayLike, n_links: int) -> Self | None:
        """The curve from scores of hidden links (h,) and of open pairs (k,), each standing for ``weight`` (k,) pairs.

        ``n_links`` are known. None where there is too little of either. SettingError for a score that is not finite.
        """
        links, pairs, weights = (np.asarray(each, dtype=np.float64) for each in (hidden, scores, weight))
        if len(links) < _FEWEST or len(pairs) < _FEWEST:
            return None
        missing = MISSING * n_links
        reliability = np.zeros((3, _BINS))
        for one in (0, 1):
            learned = _expected(links[one::2], pairs[one::2], 2 * weights[one::2], missing)
            reliability += _measured(learned, links[1 - one :: 2], pairs[1 - one :: 2], weights[1 - one :: 2], missing)
        return cls(_expected(links, pairs, weights, missing), reliability)

    def apply(self, score: ArrayLike, missing: float = MISSING) -> Numbers:
        """Probabilities of scores, same shape; ``missing`` is the share of links assumed to be missing."""
        check_missing(missing)
        return _probability(self.expected, score, missing / MISSING)

    def to_arrays(self) -> Arrays:
        """The curve as named arrays."""
        return {**self.expected.to_arrays(), "reliability": self.reliability}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """What `to_arrays` gave; SettingError if it is damaged."""
        parts = dict(arrays)
        if "reliability" not in parts:
            raise SettingError("the curve of probabilities within layers has no reliability")
        reliability = parts.pop("reliability")
        return cls(Isotonic.from_arrays(parts), reliability)


def check_missing(missing: float) -> None:
    """SettingError unless a share of missing links is above 0 and at most 1."""
    if not 0 < missing <= 1:
        raise SettingError(f"a share of {missing} of the links is missing, expected more than 0 and at most 1")


def _expected(hidden: Numbers, scores: Numbers, weight: Numbers, missing: float) -> Isotonic:
    label = np.arange(len(hidden) + len(scores)) < len(hidden)
    stands_for = np.concatenate([np.full(len(hidden), missing / len(hidden)), weight])
    return Isotonic.fit(np.concatenate([hidden, scores]), label, stands_for)


def _probability(expected: Isotonic, score: ArrayLike, times: float) -> Numbers:
    """(...) m / n, for ``times`` as many missing links as the curve was made for."""
    part = expected.apply(score)
    return np.asarray(np.minimum(times * part / (1 - part), _MOST))


def _measured(expected: Isotonic, hidden: Numbers, scores: Numbers, weight: Numbers, missing: float) -> Numbers:
    """(3, 10) of half of the links and pairs; see `LinkCurve.reliability`."""
    claimed, found = _probability(expected, scores, 1), _probability(expected, hidden, 1)
    shown, true = claimed > _LEAST, found > _LEAST
    place, other = (np.minimum((p * _BINS).astype(np.int64), _BINS - 1) for p in (claimed[shown], found[true]))
    each = missing / (2 * len(hidden))
    return np.stack(
        [
            np.bincount(place, weight[shown], _BINS),
            np.bincount(place, weight[shown] * claimed[shown], _BINS),
            np.bincount(other, minlength=_BINS) * each,
        ]
    )
