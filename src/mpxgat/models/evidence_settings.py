"""The settings of the evidence model."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mpxgat.errors import SettingError, quoted
from mpxgat.evidence.candidates import Wanted
from mpxgat.evidence.judge import Growth
from mpxgat.evidence.nearest import APPROXIMATE, AUTO, SEARCHES, search_library
from mpxgat.models.settings import Settings

_MOST_LEAVES = 1000  # far more than helps


@dataclass(frozen=True)
class EvidenceSettings(Settings):
    """How the judge of pairs learns; defaults chosen on ff-tw-yt and Drosophila, seeds 100 and above.

    embeddings          "anchored", whose scores are evidence as well, or "none"
    splits              self-made splits it learns on, at least; more where few links are known
    dissolved           share of the known units whose links are all hidden in one
    detached            share of the units with three nodes or more that lose one node; a judgement: the protocols
                        detach none, where .04 costs a little, but users will ask about such nodes
    hidden_intra, hidden_inter      shares of links hidden for the judge of intra links
    non_links           non-links drawn for each link
    trees, leaves, rate of the boosted trees; of one judge: where four decide together, each has half as many
    candidates          most similar nodes of a layer that are judged for each node, when matching
    nearest             nodes of a layer with the nearest embeddings that are judged as well, 0 for none
    search              how these are found: "exact", "approximate" (extra ann), or "auto": approximate in layers
                        of 20,000 nodes and more if the extra is there
    """

    embeddings: str = "anchored"
    splits: int = 4
    dissolved: float = 0.2
    detached: float = 0.01
    hidden_intra: float = 0.02
    hidden_inter: float = 0.04
    non_links: int = 60
    trees: int = 300
    leaves: int = 15
    rate: float = 0.05
    candidates: int = 5
    nearest: int = 5
    search: str = AUTO

    def __post_init__(self) -> None:
        if self.embeddings not in ("anchored", "none"):
            raise SettingError(f"embeddings is {quoted(self.embeddings)}, expected anchored or none")
        self.check_at_least(1, "splits", "non_links", "trees", "candidates")
        self.check_at_least(0, "nearest")
        if self.search not in SEARCHES:
            raise SettingError(f"search is {quoted(self.search)}, expected {' or '.join(SEARCHES)}")
        if self.search == APPROXIMATE:
            search_library()
        self.check_at_least(2, "leaves")
        if self.leaves > _MOST_LEAVES:
            raise SettingError(f"leaves is {self.leaves}, expected at most {_MOST_LEAVES}")
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise SettingError(f"rate is {self.rate}, expected a number above 0")
        self.check_share("dissolved", "detached", "hidden_intra", "hidden_inter")

    @property
    def inter_growth(self) -> Growth:
        """Trees for pairs of different layers."""
        return Growth(trees=self.trees, leaves=self.leaves, rate=self.rate)

    @property
    def intra_growth(self) -> Growth:
        """Trees for pairs of one layer: there are more links to learn from."""
        return Growth(trees=self.trees, leaves=self.leaves, rate=self.rate, columns=0.5, random=False)

    @property
    def wanted(self) -> Wanted:
        """Candidates when matching."""
        return Wanted(similar=self.candidates, nearest=self.nearest, search=self.search)
