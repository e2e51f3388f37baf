"""Links that a model has not seen, and the model that has not seen them: all that a report may judge by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mpxgat.errors import SettingError
from mpxgat.graph import MultiplexGraph
from mpxgat.models.base import Model
from mpxgat.models.registry import make_model
from mpxgat.splits import Split
from mpxgat.training.session import Session


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A model fitted on ``split.train`` and nothing else; SettingError if it was fitted on another graph.

    whole       the graph that the split was made of: the truth
    words       sentences for captions: how the two came about
    """

    model: Model
    split: Split
    whole: MultiplexGraph
    words: str

    def __post_init__(self) -> None:
        fitted, train = self.model.graph, self.split.train
        same = np.array_equal(fitted.intra, train.intra) and np.array_equal(fitted.inter, train.inter)
        if fitted.n_nodes != train.n_nodes or not same:
            raise SettingError(
                "the model was fitted on other links than those left by the split; fit it on split.train"
            )


def fit_again(model: Model, split: Split, session: Session | None = None) -> HeldOut:
    """The same model with the same settings, fitted on what a split of its graph leaves."""
    again = make_model(model.name, seed=model.seed, **model.settings).fit(split.train, session)
    return HeldOut(again, split, model.graph, words_of_second_fit(split))


def words_of_second_fit(split: Split) -> str:
    """How the judged model came about, for captions."""
    return (
        f"The run has seen every link of its network, so its own scores would prove nothing. Judged is a second fit "
        f"with the same settings, from which {_hidden(split)} were hidden."
    )


def words_of_split(split: Split) -> str:
    """The same for a model that was fitted on a split in the first place."""
    return f"Judged on links hidden from training: {_hidden(split)}."


def _hidden(split: Split) -> str:
    return f"{len(split.intra.positives):,} links within layers and {len(split.inter.positives):,} between layers"
