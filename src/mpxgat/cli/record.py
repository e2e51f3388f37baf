"""`mpxgat record`: evaluate cell by cell and put the results on record; what is on record is not computed again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from mpxgat.cli.options import (
    BatchOption,
    ConfigOption,
    DataArgument,
    EpochsOption,
    JobsOption,
    PublishedOption,
    SetOption,
    load_data,
    parse_settings,
)
from mpxgat.cli.output import print_note


def record(
    data: DataArgument,
    results: Annotated[Path, typer.Option("--results", "-o", help="The JSONL file the results are added to.")],
    model: Annotated[str, typer.Option(help="The model's name.")] = "rules",
    protocol: Annotated[str, typer.Option(help="marked (the paper's) or units.")] = "marked",
    seeds: Annotated[int, typer.Option(min=1, help="Number of repetitions.")] = 1,
    first_seed: Annotated[int, typer.Option(min=0, help="Seed of the first one; tune on 100 and above.")] = 0,
    set: SetOption = None,
    config: ConfigOption = None,
    published: PublishedOption = None,
    epochs: EpochsOption = None,
    batch: BatchOption = None,
    jobs: JobsOption = 1,
) -> None:
    """Evaluate a model on several seeds and add each result to a file; killed and started again, it goes on."""
    from mpxgat.experiments.records import ResultsFile, ResultsFolder, cell_key
    from mpxgat.experiments.runner import run_cell
    from mpxgat.training.parallel import Processes

    settings = parse_settings(set or [], config, published, epochs, batch)
    folder = ResultsFolder(results.parent, added_to=results.name)
    keys = [cell_key(data, protocol, model, settings, seed) for seed in range(first_seed, first_seed + seeds)]
    done = {known.key.text() for known in ResultsFile(results).read()}
    missing = [key for key in keys if key.text() not in done]
    print_note(f"{len(keys) - len(missing)} of {len(keys)} results are on record already")
    graph = load_data(data)[0] if missing else None
    for key in missing:
        assert graph is not None
        cell = run_cell(key, graph, folder.session(key, Processes(jobs)))
        folder.add(cell)
        print_note(f"{data}, {model}, seed {key.seed}: {_shown(cell.measures)}")


def _shown(measures: Any) -> str:
    return ", ".join(f"{kind} AUC {measures[kind]['auc']:.4f}" for kind in ("intra", "inter") if measures[kind]["auc"])


# `mpxgat results`: the table of recorded results.


def results(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="JSONL files that `mpxgat record` wrote.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A Markdown file with the markers of the section.")
    ] = None,
    protocol: Annotated[str, typer.Option(help="marked or units.")] = "marked",
    section: Annotated[str, typer.Option(help="Name of the section in the Markdown file.")] = "marked",
) -> None:
    """Print the table of recorded results in Markdown, or put it into a section of a file."""
    from mpxgat.experiments.records import ResultsFile
    from mpxgat.experiments.tables import markdown_table, write_section

    records = [record for file in files for record in ResultsFile(file).read()]
    table = markdown_table(records, protocol)
    if output is None:
        sys.stdout.write(table)
    else:
        write_section(output, section, table)
