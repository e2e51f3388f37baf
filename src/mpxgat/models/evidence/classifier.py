"""The judge: boosted trees that turn evidence into log-odds, and say how much each piece of evidence added.

LightGBM grows the trees: it is fast on two cores, keeps a model as plain text (nothing is executed on loading), and
attributes a score exactly to its inputs (TreeSHAP: base + contributions = score).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.errors import TrainingError, printable

if TYPE_CHECKING:
    import lightgbm


Evidence = NDArray[np.float32]
Scores = NDArray[np.float64]
_FASTEST = 0.3  # rate of learning that boosting still bears


def trees_library() -> ModuleType:
    """LightGBM; TrainingError if the system lacks what it needs. Imported late: it takes a second."""
    try:
        return import_module("lightgbm")
    except (OSError, ImportError) as problem:
        raise TrainingError(
            f"LightGBM cannot be loaded ({printable(problem)}); it needs OpenMP's runtime library: install libgomp1 "
            "(Debian, Ubuntu) or libomp (Homebrew), or use another model, such as anchored"
        ) from None


@dataclass(frozen=True)
class Growth:
    """How the trees are grown: many small random ones, as positives are few.

    Chosen on ff-tw-yt and Drosophila, seeds 100 to 102, among 4, 7 and 15 leaves, 100 to 400 trees, with and without
    random thresholds: the latter bring +.01 of AUC on Drosophila's held-out units, the rest hardly matters.
    """

    trees: int = 300
    leaves: int = 15
    rate: float = 0.05
    columns: float = 0.3
    smallest_leaf: int = 100
    shrinkage: float = 5.0
    random: bool = True

    def among(self, judges: int) -> Growth:
        """For each of some judges that decide together: by the root of their number fewer trees of more weight.

        A jury takes longer to ask than one judge, and needs less of each. Held-out units of ff-tw-yt (seeds 100, 103,
        104) and Drosophila (100), four judges: with 150 trees each AUC and likelihood are those with 300; with 75 the
        likelihood falls, and fewer matches are sure.
        """
        factor = math.sqrt(judges)
        return replace(
            self, trees=math.ceil(self.trees / factor), rate=min(self.rate * factor, max(self.rate, _FASTEST))
        )

    def parameters(self, seed: int) -> dict[str, Any]:
        """As LightGBM names them."""
        return {
            "objective": "binary",
            "num_leaves": self.leaves,
            "learning_rate": self.rate,
            "feature_fraction": self.columns,
            "min_data_in_leaf": self.smallest_leaf,
            "lambda_l2": self.shrinkage,
            "extra_trees": self.random,
            "deterministic": True,
            "force_col_wise": True,
            "num_threads": 2,
            "seed": seed % 2**31,
            "verbose": -1,
        }


class Judge:
    """Log-odds from evidence (k, f); columns in the order they were learned in."""

    def __init__(self, booster: lightgbm.Booster, offset: float):
        self._booster = booster
        self._offset = offset

    @classmethod
    def learn(cls, evidence: Evidence, label: NDArray[Any], offset: float, seed: int, growth: Growth) -> Judge:
        """Fit to (k, f) evidence and (k,) labels, 1 for a link.

        offset  added to every score: the log of the share of non-links that were drawn
        """
        library = trees_library()
        data = library.Dataset(evidence, label.astype(np.float64), free_raw_data=True)
        return cls(library.train(growth.parameters(seed), data, growth.trees), offset)

    @property
    def n_columns(self) -> int:
        """Columns of the evidence it learned from."""
        return int(self._booster.num_feature())

    def score(self, evidence: Evidence) -> Scores:
        """(k,) log-odds."""
        if not len(evidence):
            return np.zeros(0)
        raw = np.asarray(self._booster.predict(evidence, raw_score=True), dtype=np.float64)
        return raw + self._offset

    def contributions(self, evidence: Evidence) -> NDArray[np.float64]:
        """(k, f + 1): what each column added to the log-odds, and last the base; a row's sum is its score."""
        parts: NDArray[np.float64] = np.array(self._booster.predict(evidence, pred_contrib=True), dtype=np.float64)
        parts[:, -1] += self._offset
        return parts

    def importance(self, names: Sequence[str]) -> dict[str, float]:
        """Each column's share of what the trees gained."""
        gain = self._booster.feature_importance("gain")
        return dict(zip(names, (gain / max(gain.sum(), 1e-300)).tolist(), strict=True))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """To be saved."""
        text = self._booster.model_to_string().encode()
        return {
            "trees": np.frombuffer(text, dtype=np.uint8),
            "digest": np.frombuffer(sha256(text).digest(), dtype=np.uint8),
            "offset": np.array([self._offset]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Judge:
        """What `to_arrays` gave; ValueError if it is not.

        LightGBM's reader may end the process on a damaged text, so it is given only a text that fits its digest.
        """
        library = trees_library()
        try:
            text, digest, offset = arrays["trees"].tobytes(), arrays["digest"].tobytes(), arrays["offset"].item()
            if sha256(text).digest() != digest or not math.isfinite(offset):
                raise ValueError("it is damaged")
            return cls(library.Booster(model_str=text.decode()), float(offset))
        except (KeyError, ValueError, library.basic.LightGBMError) as error:
            raise ValueError(f"the saved judge cannot be read ({error})") from None


# The jury: judges that learned on different parts of what is known, and decide together.
#
# Each has its own exam, on what it has not learned from, and what an exam says of a judge is true of that judge only:
# one that has learned from everything is surer of itself, without being right as often.


class Jury:
    """Log-odds from evidence (k, f): the mean of those of the judges, of whom there is one at least."""

    def __init__(self, judges: Sequence[Judge]):
        self.judges = tuple(judges)

    @property
    def n_columns(self) -> int:
        """Columns of the evidence they learned from."""
        return self.judges[0].n_columns

    def score(self, evidence: Evidence) -> Scores:
        """(k,) log-odds."""
        return self._mean(lambda judge: judge.score(evidence))

    def contributions(self, evidence: Evidence) -> NDArray[np.float64]:
        """(k, f + 1): what each column added to the log-odds, and last the base; a row's sum is its score."""
        return self._mean(lambda judge: judge.contributions(evidence))

    def _mean(self, opinion: Callable[[Judge], NDArray[np.float64]]) -> NDArray[np.float64]:
        total = opinion(self.judges[0])
        for judge in self.judges[1:]:
            total += opinion(judge)
        return total / len(self.judges)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """To be saved."""
        return {
            f"{number}.{name}": array
            for number, judge in enumerate(self.judges)
            for name, array in judge.to_arrays().items()
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Jury:
        """What `to_arrays` gave; ValueError if it is not."""
        by_judge: dict[str, dict[str, NDArray[Any]]] = {}
        for name, array in arrays.items():
            number, _, part = name.partition(".")
            by_judge.setdefault(number, {})[part] = array
        expected = [str(number) for number in range(len(by_judge))]
        if not by_judge or by_judge.keys() != set(expected):
            raise ValueError("the saved judges are not numbered from 0 on; another version saves only one")
        judges = [Judge.from_arrays(by_judge[number]) for number in expected]
        if len({judge.n_columns for judge in judges}) > 1:
            raise ValueError("the saved judges have learned from different columns")
        return cls(judges)
