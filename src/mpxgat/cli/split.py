"""`mpxgat split`: hide links by a protocol and keep the split in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mpxgat.cli.options import (
    DataArgument,
    DirectedOption,
    FormatOption,
    HiddenOption,
    JsonOption,
    KnownOption,
    ProtocolOption,
    chosen_split,
    load_data,
)
from mpxgat.cli.output import print_fields, print_json, progress


def split(
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write (.split).")],
    protocol: ProtocolOption = None,
    known: KnownOption = None,
    hidden: HiddenOption = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 0,
    directed: DirectedOption = False,
    format: FormatOption = None,
    json: JsonOption = False,
) -> None:
    """Hide test links and save the training graph with the pairs to be predicted; `mpxgat evaluate` takes it."""
    from mpxgat.splits import save_split

    choice = chosen_split(protocol, known, hidden)  # what is wrong is reported before anything is read
    with progress(f"splitting {data}", quiet=json):
        graph, label = load_data(data, format, directed=directed)
        [made] = choice.splits(graph, range(seed, seed + 1))
        save_split(made, output)
    record = {
        "dataset": label,
        "protocol": made.protocol,
        "seed": seed,
        "file": str(output),
        "marked_nodes": len(made.marked),
        "intra": {"train": made.train.n_intra, "test": len(made.intra.positives)},
        "inter": {"train": made.train.n_inter, "test": len(made.inter.positives)},
    }
    if json:
        print_json(record)
        return
    print_fields(
        {
            "wrote": output,
            "protocol": f"{made.protocol}, seed {seed}, {record['marked_nodes']:,} nodes marked",
            "intra links": f"{made.train.n_intra:,} for training, {len(made.intra.positives):,} hidden",
            "inter links": f"{made.train.n_inter:,} for training, {len(made.inter.positives):,} hidden",
        }
    )
