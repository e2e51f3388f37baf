"""RUN, where nodes are to be matched: the run of a model that can do it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mpxgat.errors import SettingError

if TYPE_CHECKING:
    from mpxgat.matching import Matcher


def load_matcher(run: Path) -> tuple[Matcher, str]:
    """The trained model in a run's folder and its name; SettingError if it cannot match nodes."""
    from mpxgat.matching import Matcher
    from mpxgat.runs import RunFolder

    model = RunFolder(run).model()
    if not isinstance(model, Matcher):
        names = ", ".join(_names_of_matchers()) or "none"
        raise SettingError(f"the model {model.name!r} cannot match nodes; models that can: {names}")
    return model, model.name


def _names_of_matchers() -> list[str]:
    from mpxgat.models.registry import model_class, model_names

    # A class cannot be asked whether it fulfils a protocol that has properties, so ask for the methods.
    return [name for name in model_names() if hasattr(model_class(name), "candidates")]
