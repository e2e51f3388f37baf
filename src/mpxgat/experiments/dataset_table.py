"""The table of data sets: their sizes as prepared, beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mpxgat import datasets
from mpxgat.experiments.fields import Fields
from mpxgat.experiments.tables import Table
from mpxgat.io.toml_files import read_toml

_COLUMNS = ("data set", "layers", "nodes", "published", "inter links", "published", "intra links")


@dataclass(frozen=True)
class PublishedSizes:
    """Sizes of a data set as printed."""

    name: str
    nodes: int
    inter_links: int


@dataclass(frozen=True)
class DatasetTable:
    """What the table is made of."""

    path: Path
    title: str
    entries: tuple[PublishedSizes, ...]

    def make(self, wanted: Sequence[str] = ()) -> Table:
        """Read the data sets (only those wanted, if any are named) and count."""
        rows, values = [], []
        for entry in self.entries:
            if wanted and entry.name not in wanted:
                continue
            graph = datasets.load(entry.name)
            sizes = {
                "layers": graph.n_layers,
                "nodes": graph.n_nodes,
                "inter_links": graph.n_inter,
                "intra_links": graph.n_intra,
            }
            published = {"nodes": entry.nodes, "inter_links": entry.inter_links}
            numbers = (
                graph.n_layers, graph.n_nodes, entry.nodes, graph.n_inter, entry.inter_links, graph.n_intra,
            )  # fmt: skip
            rows.append((entry.name, *(f"{number:,}" for number in numbers)))
            values.append({"graph": entry.name, "sizes": sizes, "published": published})
        return Table(self.path.stem, self.title, _NOTES, _COLUMNS, tuple(rows), tuple(values))


_NOTES = (
    "Undirected, unweighted, copies of a unit linked pairwise, largest connected component. What the paper calls edges "
    "are the inter links; it prints no numbers of layers and intra links.",
)


def read_dataset_table(path: Path) -> DatasetTable:
    """The table in a TOML file; InputError names what does not fit."""
    top = Fields(read_toml(path), path, "")
    title = top.text("title")
    entries = []
    for fields in top.tables("dataset"):
        entry = PublishedSizes(fields.text("name"), fields.whole("nodes"), fields.whole("inter_links"))
        fields.finish()
        with fields.at_this_place():
            datasets.dataset(entry.name)
        entries.append(entry)
    top.finish()
    return DatasetTable(path, title, tuple(entries))
