"""The explorer: a node's surroundings in all layers, who it could be in others, and why."""

from __future__ import annotations

from mpxgat.matching.matcher import Matcher
from mpxgat.models.base import Model
from mpxgat.report.explorer_data import explorer_data
from mpxgat.report.fragment import Fragment
from mpxgat.report.page import asset

ANCHOR = "explorer"
# In this order they are one script; what comes later uses what came before.
_SCRIPTS = ("elements", "network", "search", "layout", "drawing", "lists", "candidates", "search_box", "explorer")


def explorer_fragment(model: Model | Matcher) -> Fragment:
    """The explorer of a fitted model's network, with candidates if the model matches nodes."""
    return Fragment(
        anchor=ANCHOR,
        title="Explorer",
        html=asset("explorer/explorer.html"),
        style=asset("explorer/explorer.css"),
        script="\n".join(asset(f"explorer/{name}.js") for name in _SCRIPTS),
        data=explorer_data(model),
    )
