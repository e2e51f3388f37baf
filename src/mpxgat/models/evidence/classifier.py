"""Classifiers of pairs: boosted trees that turn features into log-odds.

LightGBM grows the trees: it is fast on two cores, keeps a model as plain text (nothing is executed on loading), and
attributes a score exactly to its inputs (TreeSHAP: base + contributions = score).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.errors import TrainingError, printable
from mpxgat.models.evidence.features import Features
from mpxgat.models.evidence.trees import Trees
from mpxgat.system import threads

if TYPE_CHECKING:
    import lightgbm


Scores = NDArray[np.float64]


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
class Hyperparameters:
    """Of the boosted trees: many small random ones, as positives are few.

    Chosen on ff-tw-yt and Drosophila, seeds 100 to 102, among 4, 7 and 15 leaves, 100 to 400 trees, with and without
    random thresholds: the latter bring +.01 of AUC on Drosophila's held-out units, the rest hardly matters.
    """

    trees: int = 300
    leaves: int = 15
    learning_rate: float = 0.05
    feature_fraction: float = 0.3
    smallest_leaf: int = 20
    l2: float = 5.0
    random_thresholds: bool = True
    bins: int = 63

    def parameters(self, seed: int) -> dict[str, Any]:
        """As LightGBM names them."""
        return {
            "objective": "binary",
            "num_leaves": self.leaves,
            "learning_rate": self.learning_rate,
            "feature_fraction": self.feature_fraction,
            "min_data_in_leaf": self.smallest_leaf,
            "lambda_l2": self.l2,
            "extra_trees": self.random_thresholds,
            "max_bin": self.bins,
            "deterministic": True,
            "force_col_wise": True,
            "num_threads": threads(),  # which changes nothing but the time
            "seed": seed % 2**31,
            "verbose": -1,
        }


class Classifier:
    """Log-odds from features (k, f); columns in the order they were learned in.

    Trees of the usual size are asked without the library (see `trees`), which is loaded for other trees and to
    attribute scores to columns.
    """

    def __init__(self, text: str):
        """``text`` is LightGBM's; ValueError if it is not."""
        self._text = text
        self._trees = Trees.read(text)

    @classmethod
    def fit(
        cls,
        features: Features,
        label: NDArray[Any],
        seed: int,
        parameters: Hyperparameters,
    ) -> Classifier:
        """Learn from (k, f) features and (k,) labels, 1 for a link."""
        library = trees_library()
        data = library.Dataset(features, label.astype(np.float64), free_raw_data=True)
        grown = library.train(parameters.parameters(seed), data, parameters.trees).model_to_string()
        return cls(grown.partition("\nparameters:")[0] + "\n")  # these name the threads, of which nothing depends

    @cached_property
    def _booster(self) -> lightgbm.Booster:
        found: lightgbm.Booster = trees_library().Booster(model_str=self._text)
        return found

    @property
    def n_features(self) -> int:
        """Columns that it learned from."""
        return self._trees.n_features if self._trees else int(self._booster.num_feature())

    @property
    def n_trees(self) -> int:
        """Trees that it is made of."""
        return self._trees.n_trees if self._trees else int(self._booster.num_trees())

    def score(self, features: Features) -> Scores:
        """(k,) log-odds."""
        if self._trees:
            return self._trees.score(features)
        return self._predict(features, raw_score=True) if len(features) else np.zeros(0)

    def contributions(self, features: Features) -> NDArray[np.float64]:
        """(k, f + 1): what each column added to the log-odds, and last the base; a row's sum is its score."""
        return self._predict(features, pred_contrib=True)

    def _predict(self, features: Features, **what: bool) -> NDArray[np.float64]:
        return np.array(self._booster.predict(features, num_threads=threads(), **what), dtype=np.float64)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """To be saved."""
        text = self._text.encode()
        return {
            "trees": np.frombuffer(text, dtype=np.uint8),
            "digest": np.frombuffer(sha256(text).digest(), dtype=np.uint8),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Classifier:
        """What `to_arrays` gave; ValueError if it is not.

        LightGBM's reader may end the process on a damaged text, so it is given only a text that fits its digest.
        """
        try:
            text, digest = arrays["trees"].tobytes(), arrays["digest"].tobytes()
            if sha256(text).digest() != digest:
                raise ValueError("it is damaged")
            return cls(text.decode())
        except (KeyError, ValueError) as error:
            raise ValueError(f"the saved classifier cannot be read ({error})") from None
