"""Models whose two vectors for every node come out of one training."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

from mpxgat.models.embedding import EmbeddingModel
from mpxgat.models.link_training import Stream
from mpxgat.models.settings import Settings
from mpxgat.training.loop import Outcome


class TrainedEmbedding(EmbeddingModel):
    """Keeps settings and how the training went; a model trains in `_learn` and sets ``_outcome``."""

    _part: ClassVar[str]  # what the training is called, in progress bars and records
    _settings: Settings
    _outcome: Outcome | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, defaults included."""
        return self._settings.to_dict()

    @property
    def history(self) -> dict[str, list[dict[str, float]]]:
        """A row for each validation: epoch, loss, validation AUC, further readings of the model."""
        return {self._part: self._trained.history}

    def training_summary(self) -> dict[str, Any]:
        """Epochs run, best epoch and its validation AUC."""
        outcome = self._trained
        numbers = {"epochs": outcome.epochs, "best_epoch": outcome.best_epoch, "best": outcome.best_value}
        return {"parts": {self._part: numbers}}

    def _stream(self, purpose: int) -> Stream:
        """The random numbers for a purpose."""
        return Stream((self.seed, 0, purpose))

    def _notes(self) -> dict[str, Any]:
        return {"outcome": asdict(self._trained)}

    @property
    def _trained(self) -> Outcome:
        _ = self.graph  # says so if the model is not fitted
        assert self._outcome is not None
        return self._outcome
