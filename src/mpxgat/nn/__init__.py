"""Neural networks in plain PyTorch. They take tensors, not graphs; MPXGAT is read in `mpxgat.nn.mpxgat`."""

from mpxgat.nn.attention import Neighbourhood
from mpxgat.nn.mpxgat import (
    PAPER,
    PRESETS,
    REFERENCE,
    HorizontalBlock,
    HorizontalNet,
    MeanMessage,
    ReceiverMessage,
    SenderMessage,
    Style,
    VerticalBlock,
    VerticalNet,
    WeightedSum,
    Widths,
    preset,
    unit_rows,
)
from mpxgat.nn.ops import link_loss, pair_scores
from mpxgat.nn.projection import OneHot, SomeRows

__all__ = [
    "PAPER",
    "PRESETS",
    "REFERENCE",
    "HorizontalBlock",
    "HorizontalNet",
    "MeanMessage",
    "Neighbourhood",
    "OneHot",
    "ReceiverMessage",
    "SenderMessage",
    "SomeRows",
    "Style",
    "VerticalBlock",
    "VerticalNet",
    "WeightedSum",
    "Widths",
    "link_loss",
    "pair_scores",
    "preset",
    "unit_rows",
]
