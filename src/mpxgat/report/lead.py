"""The head of a report: a sentence or two, and the numbers to know first."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from mpxgat.graph import MultiplexGraph


def lead(sentences: str, numbers: Mapping[str, str]) -> str:
    """HTML; the texts are escaped here."""
    tiles = "\n".join(f"<li><b>{escape(value)}</b>{escape(name)}</li>" for name, value in numbers.items())
    return f"<p>{escape(sentences)}</p>\n" + (f'<ul class="tiles">\n{tiles}\n</ul>' if numbers else "")


def sizes(graph: MultiplexGraph) -> dict[str, str]:
    """A network's sizes, for `lead`."""
    return {
        "layers": f"{graph.n_layers:,}",
        "nodes": f"{graph.n_nodes:,}",
        "known units": f"{graph.n_units:,}",
        "links within layers": f"{graph.n_intra:,}",
        "links between layers": f"{graph.n_inter:,}",
    }
