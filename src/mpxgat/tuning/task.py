"""What all trials of a search have in common, and one trial: fit without the validation links, be judged on them."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mpxgat.errors import MpxgatError, OutputError, ResumeError, SettingError, printable, quoted
from mpxgat.evaluation import evaluate
from mpxgat.models import make_model
from mpxgat.splits import Split
from mpxgat.training.session import Session
from mpxgat.tuning.trials import FAILED, FINISHED, MEASURES, PRUNED, Trial


class GiveUp(Exception):  # noqa: N818 - a signal, like KeyboardInterrupt
    """Raised by who hears a trial's reports, to end a trial that promises little."""


def check_measure(measure: str) -> None:
    """SettingError unless there is a measure of this name."""
    if measure not in MEASURES:
        raise SettingError(f"no measure {quoted(measure)}; known are {', '.join(MEASURES)}")


@dataclass(frozen=True, eq=False)
class Task:
    """Model, measure and seed of a search, and the split that its trials are fitted and judged on.

    SettingError if the split hides no link that the measure asks about.
    """

    model: str
    measure: str
    seed: int
    validation: Split

    def __post_init__(self) -> None:
        hidden = {"intra": len(self.validation.intra.positives), "inter": len(self.validation.inter.positives)}
        if not sum(hidden[kind] for kind in hidden if self.measure in (kind, "overall")):
            raise SettingError(
                f"the validation part of the data has no links for the measure {self.measure}; "
                "expected some: take another measure, another seed or more data"
            )

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All settings of the model, defaults included."""
        return make_model(self.model, seed=self.seed, **given).settings

    def run(self, number: int, settings: Mapping[str, Any], session: Session) -> Trial:
        """One trial. What a user could mend in its settings makes it a failed one; it never raises for that."""
        start = time.perf_counter()
        state, problem, epochs = FINISHED, "", None
        auc: dict[str, float | None] = {}
        try:
            model = make_model(self.model, seed=self.seed, **settings).fit(self.validation.train, session)
            found = evaluate(model, self.validation)
            values = (found.intra.values["auc"], found.inter.values["auc"], found.overall_auc)
            auc = {kind: _known(value) for kind, value in zip(MEASURES, values, strict=True)}
            epochs = max((part["epochs"] for part in model.training_summary().get("parts", {}).values()), default=None)
            if auc[self.measure] is None:
                state, problem = FAILED, f"the {self.measure} AUC is undefined"
        except GiveUp:
            state = PRUNED
        except (OutputError, ResumeError):  # a full disk or a damaged checkpoint is no fault of the settings
            raise
        except (MpxgatError, MemoryError, RuntimeError) as reason:  # torch's errors are RuntimeErrors
            state, problem = FAILED, printable(reason, 300) or type(reason).__name__
        seconds = round(time.perf_counter() - start, 2)
        return Trial(number, dict(settings), state, self.measure, auc, epochs, seconds, problem)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
