"""The figures of the MPXGAT paper: AUC, mean and standard deviation, by model and data set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedAuc:
    """Mean and standard deviation as printed (two decimals)."""

    intra: tuple[float, float]
    inter: tuple[float, float]
    overall: float

    def text(self, kind: str) -> str:
        """As the paper prints it."""
        mean, spread = self.intra if kind == "intra" else self.inter
        return f"{mean:.2f} ± {spread:.2f}"


PUBLISHED_AUC: dict[tuple[str, str], PublishedAuc] = {
    ("graphsage", "fftwyt"): PublishedAuc((0.47, 0.02), (0.56, 0.02), 0.49),
    ("graphsage", "drosophila"): PublishedAuc((0.54, 0.02), (0.63, 0.02), 0.57),
    ("graphsage", "arxiv"): PublishedAuc((0.72, 0.02), (0.70, 0.01), 0.70),
    ("gatne", "fftwyt"): PublishedAuc((0.83, 0.01), (0.47, 0.01), 0.72),
    ("gatne", "drosophila"): PublishedAuc((0.78, 0.01), (0.55, 0.01), 0.69),
    ("gatne", "arxiv"): PublishedAuc((0.91, 0.01), (0.63, 0.01), 0.72),
    ("multiplexsage", "fftwyt"): PublishedAuc((0.48, 0.02), (0.62, 0.02), 0.52),
    ("multiplexsage", "drosophila"): PublishedAuc((0.51, 0.01), (0.77, 0.02), 0.61),
    ("multiplexsage", "arxiv"): PublishedAuc((0.71, 0.02), (0.83, 0.01), 0.79),
    ("mpxgat", "fftwyt"): PublishedAuc((0.76, 0.06), (0.83, 0.01), 0.78),
    ("mpxgat", "drosophila"): PublishedAuc((0.76, 0.05), (0.86, 0.02), 0.80),
    ("mpxgat", "arxiv"): PublishedAuc((0.80, 0.02), (0.84, 0.01), 0.82),
}
