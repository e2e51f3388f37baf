"""What the results of one cell over several seeds come to, as values and as words of a table."""

from __future__ import annotations

from collections.abc import Sequence

from mpxgat.experiments.records import CellRecord
from mpxgat.repetitions import Summary

MISSING = "–"
BETWEEN_LAYERS = "between layers"  # the part of a model that is trained on inter links


def summary_of(records: Sequence[CellRecord], measure: str) -> Summary | None:
    """A measure such as ``inter.mrr`` (``inter`` is its AUC) over the records; None if one of them lacks it."""
    kind, _, name = measure.partition(".")
    values = [record.measures.get(kind, {}).get(name or "auc") for record in records]
    known = [value for value in values if value is not None]
    return Summary.of(known) if known and len(known) == len(values) else None


def mean_and_spread(summary: Summary | None) -> str:
    """Mean ± sample standard deviation; the mean alone for one seed."""
    if summary is None:
        return MISSING
    return f"{summary.mean:.3f}" + (f" ± {summary.std:.3f}" if len(summary.values) > 1 else "")


def epochs_run(records: Sequence[CellRecord]) -> str:
    """Smallest and largest number of epochs: of the layers, then of the part between layers; "" if nothing trains."""
    horizontal: list[int] = []
    vertical: list[int] = []
    for record in records:
        for label, part in record.training.get("parts", {}).items():
            (vertical if label == BETWEEN_LAYERS else horizontal).append(part["epochs"])
    return ", ".join(_range(numbers) for numbers in (horizontal, vertical) if numbers)


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"
