"""A model whose quality is a setting, for tests of searches: quick, and the best settings are known."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np

from mpxgat.errors import TrainingError
from mpxgat.models import base as registry
from mpxgat.models.rules import Rules

DEFAULTS = {"quality": 0.5, "width": 8, "word": "plain", "epochs": 4, "vertical_lr": None, "pause": 0.0}
LEARNED: list[dict[str, Any]] = []  # settings of all that were fitted in this process


class Toy(Rules):
    """The rules of thumb, spoilt by as much noise as ``quality`` is below 1; training fails above 2."""

    name = "toy"

    def __init__(self, /, *, seed: int = 0, **settings: Any):
        unknown = {name: value for name, value in settings.items() if name not in DEFAULTS}
        super().__init__(seed=seed, **unknown)
        self._given = {**DEFAULTS, **settings}

    @property
    def settings(self):
        return dict(self._given)

    def training_summary(self):
        return {"parts": {"all links": {"epochs": self._given["epochs"]}}}

    def _learn(self, graph, session):
        super()._learn(graph, session)
        LEARNED.append(self.settings)
        for epoch in range(1, self._given["epochs"] + 1):
            time.sleep(self._given["pause"])
            if self._given["quality"] > 2:
                raise TrainingError("the loss became nan")
            report = SimpleNamespace(epoch=epoch, epochs=self._given["epochs"], validation=self._given["quality"])
            session.report("all links", report)

    def _score_intra(self, pairs):
        return self._spoilt(super()._score_intra(pairs), pairs[:, 0], pairs[:, 1])

    def _score_inter(self, pairs):
        return self._spoilt(super()._score_inter(pairs), pairs[:, 0], pairs[:, 1])

    def score_block(self, rows, cols):
        return self._spoilt(super().score_block(rows, cols), rows[:, None], cols[None, :])

    def _spoilt(self, scores, rows, cols):
        noise = np.sin(12.9898 * np.minimum(rows, cols) + 78.233 * np.maximum(rows, cols)) * 43758.5453 % 1
        return scores * self._given["quality"] + 20 * (1 - self._given["quality"]) * noise


def register() -> None:
    """Make it known under the name toy."""
    registry.register_model("toy", Toy)


def unregister() -> None:
    """Undo `register`."""
    registry._REGISTERED.pop("toy", None)
