"""The figures of the MPXGAT paper by model and data set, as the cells of its tables carry them."""

from __future__ import annotations

from dataclasses import dataclass

from mpxgat.experiments.config import CONFIGS, read_config
from mpxgat.experiments.experiment import Figure


@dataclass(frozen=True)
class PublishedAuc:
    """AUC: mean and standard deviation as printed (two decimals)."""

    intra: tuple[float, float]
    inter: tuple[float, float]
    overall: float

    def text(self, kind: str) -> str:
        """As the paper prints it."""
        mean, spread = self.intra if kind == "intra" else self.inter
        return f"{mean:.2f} ± {spread:.2f}"


def _read_tables() -> dict[tuple[str, str], PublishedAuc]:
    """From Table 2 (intra and inter) and Table 3 (overall)."""
    figures: dict[tuple[str, str], dict[str, Figure]] = {}
    for table in ("table2", "table3"):
        for cell in read_config(CONFIGS / f"{table}.toml").cells:
            figures.setdefault((cell.model, str(cell.graph.dataset)), {}).update(cell.figures)
    return {
        key: PublishedAuc(_pair(found["intra"]), _pair(found["inter"]), found["overall"].mean)
        for key, found in figures.items()
        if found
    }


def _pair(figure: Figure) -> tuple[float, float]:
    assert figure.std is not None  # our own files
    return figure.mean, figure.std


PUBLISHED_AUC = _read_tables()
