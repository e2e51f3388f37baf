"""Reading and writing multiplexes: one module for each format, a registry that picks one."""

from mpxgat.io import (
    alignment_files,
    comunelab,
    csv_tables,
    graph_files,
    mpx,
    mpxg,
    multiplexsage,
    parquet,
    workbooks,
)
from mpxgat.io.assemble import read_layers
from mpxgat.io.frames import from_pandas, to_pandas
from mpxgat.io.networkx_graphs import anchors_of, from_networkx, to_networkx, to_networkx_layers
from mpxgat.io.pyg import from_pyg, to_pyg
from mpxgat.io.registry import FORMATS, Format, choose_format, formats, read, write

# Names and suffixes are each format's own (tests/contracts/test_formats.py).
for _format in (
    comunelab.FORMAT,
    comunelab.EXTENDED_FORMAT,
    mpx.FORMAT,
    multiplexsage.FORMAT,
    csv_tables.FORMAT,
    parquet.FORMAT,
    mpxg.FORMAT,
    workbooks.FORMAT,
    graph_files.GRAPHML,
    graph_files.GEXF,
    alignment_files.NPZ,
    alignment_files.MAT,
):
    FORMATS[_format.name] = _format

__all__ = [
    "Format",
    "anchors_of",
    "choose_format",
    "formats",
    "from_networkx",
    "from_pandas",
    "from_pyg",
    "read",
    "read_layers",
    "to_networkx",
    "to_networkx_layers",
    "to_pandas",
    "to_pyg",
    "write",
]
