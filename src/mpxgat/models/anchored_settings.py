"""The settings of the anchored model: what they are and what they may be."""

from __future__ import annotations

from dataclasses import dataclass

from mpxgat.models.settings import FULL, Settings, check_batch
from mpxgat.training.loop import Schedule

_BATCH = 256  # links
_FEWEST = 32  # dimensions
_MOST_NODES = 100_000  # with all of them


@dataclass(frozen=True)
class AnchoredSettings(Settings):
    """Settings of `Anchored`, chosen on fftwyt, drosophila and arxiv, seeds 100 and above.

    dimensions      of identity rows, and so of what attention over them gives; see `dimensions_for`
    hops            steps of the longest walk to a neighbour's identity
    hidden          of the function of a node's degree, layer and the like
    terms           columns of the vertical embedding that hold such terms
    splits          self-made splits trained on, at least 2; half dissolve whole units, half detach single nodes
    steps           of the optimiser in an epoch
    batch           hidden links of each kind in a step: a whole number, "auto" (256), or "full" (all of a split's)
    ranking         weight of the softmax over candidates, beside the loss that orders all pairs
    lr, weight_decay, epochs    Adam, and its largest number of epochs
    check_every, patience       epochs between validations; validations without a better one before stopping
    device          where to compute: "cpu", "cuda", …
    """

    dimensions: int = 256
    hops: int = 4
    hidden: int = 32
    terms: int = 16
    splits: int = 4
    steps: int = 20
    batch: int | str = _BATCH
    ranking: float = 0.1
    lr: float = 3e-3
    weight_decay: float = 0.0
    epochs: int = 20
    check_every: int = 1
    patience: int = 5
    device: str = "cpu"

    def __post_init__(self) -> None:
        self.check_at_least(1, "dimensions", "hops", "hidden", "terms", "steps")
        check_batch(self.batch)
        self.check_at_least(2, "splits")  # without one of each protocol, nodes with known copies are never ranked
        self.check_at_least(0, "ranking")
        _ = self.schedule  # checks its own ranges

    @property
    def schedule(self) -> Schedule:
        """How long to train, and how."""
        return Schedule(self.epochs, self.check_every, self.patience, self.lr, self.weight_decay)

    @property
    def links_in_a_step(self) -> int | None:
        """Of each kind; None for all."""
        if self.batch == FULL:
            return None
        return _BATCH if isinstance(self.batch, str) else self.batch

    def dimensions_for(self, n_nodes: int) -> int:
        """In networks of more than 100,000 nodes fewer than set, so that views take no more memory, but 32 at least.

        128 instead of 256 cost .003 of overall AUC on ff-tw-yt and .005 on a planted network of 10,000 nodes, 64 cost
        .010 and .007 (held-out units, seed 100).
        """
        return min(self.dimensions, max(_FEWEST, self.dimensions * _MOST_NODES // max(n_nodes, 1)))
