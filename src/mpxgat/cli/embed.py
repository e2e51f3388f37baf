"""`mpxgat embed`: a run's embeddings in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mpxgat.cli.options import RunArgument
from mpxgat.cli.output import print_note, progress
from mpxgat.errors import printable


def embed(
    run: RunArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The file to write: .parquet, .npz, .csv or .txt (word2vec's format)."),
    ],
) -> None:
    """Write where every node stands within its layer (horizontal) and across layers (vertical)."""
    from mpxgat.io.embedding_files import check_embedding_suffix, write_embeddings
    from mpxgat.runs import RunFolder

    check_embedding_suffix(output)
    with progress(f"writing {output}"):
        model = RunFolder(run).model()
        horizontal, vertical = model.embeddings()
        written = write_embeddings(model.graph, horizontal, vertical, output)
    for path in written:
        print_note(f"wrote {printable(path, 300)}")
