"""Splits: a training graph and the pairs to be predicted, by a protocol and a seed."""

from mpxgat.splits.files import load_split, save_split
from mpxgat.splits.negatives import InterNegatives, IntraNegatives, Negatives, PairBlock
from mpxgat.splits.split import (
    PROTOCOLS,
    InterTargets,
    IntraTargets,
    Split,
    check_protocol,
    held_out_units,
    make_split,
    marked_nodes,
    validation_split,
)

__all__ = [
    "PROTOCOLS",
    "InterNegatives",
    "InterTargets",
    "IntraNegatives",
    "IntraTargets",
    "Negatives",
    "PairBlock",
    "Split",
    "check_protocol",
    "held_out_units",
    "load_split",
    "make_split",
    "marked_nodes",
    "save_split",
    "validation_split",
]
