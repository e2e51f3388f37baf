"""`mpxgat audit`: how the published figures arise, beside what the same network reaches without a leak."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.cli.options import (
    BatchOption,
    ConfigOption,
    FormatOption,
    JsonOption,
    SetOption,
    load_data,
    parse_settings,
)
from mpxgat.cli.output import print_json, print_note, print_table, progress, training_progress
from mpxgat.errors import OutputError, SettingError, printable

if TYPE_CHECKING:
    from mpxgat.experiments.audit_tables import Record

_SECTION = "audit"
_NOTE = (
    "In the authors' scoring the links that are scored carry the messages, with dropout on. If fake links score as "
    "high as real ones, the figure shows the message passing, not what was learned. Only the leak-free figures "
    "measure a model."
)


def audit(
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="A data set's name (see `mpxgat datasets`) or a file.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Keep figures, chart and checkpoints here; resumes. With --recorded: a folder for the chart, or a "
            "Markdown file (.md) with markers for the table.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of repetitions.")] = 1,
    first_seed: Annotated[int, typer.Option(min=0, help="Seed of the first one: split and trainings.")] = 0,
    epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs",
            min=0,
            help="Epochs of the authors' training, and the most of ours. Default: 500 (published: at most 1500; the "
            "authors stop on the test loss, which is not looked at here) and 1500.",
        ),
    ] = None,
    batch: BatchOption = None,
    sets: SetOption = None,
    config: ConfigOption = None,
    jobs: Annotated[int, typer.Option(min=1, help="Layers trained in parallel, each in its own process.")] = 1,
    recorded: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Train nothing: show the audits (*.json) kept in this folder."),
    ] = None,
    format: FormatOption = None,
    json: JsonOption = False,
) -> None:
    """Show what MPXGAT's published AUC measures: test links in the network, fake ones in their place, fair scoring.

    The preset `reference` is trained at the settings published for the data set (or the defaults) on the training
    links, as the authors' code trains and as we do, and scored as their code scores and leak-free; so is the untrained
    network.
    """
    if (data is None) == (recorded is None):
        raise SettingError("expected either DATA or --recorded FOLDER")
    if recorded is not None:
        _show_recorded(recorded, output, json=json)
        return
    assert data is not None
    settings = parse_settings(sets or [], config, None, epochs, batch)
    found = _run(data, format, settings, range(first_seed, first_seed + seeds), output, jobs, quiet=json)
    if output is not None:
        _keep(output, found)
    if json:
        print_json(found)
    else:
        _print([found])


def _run(
    data: str,
    format: str | None,
    settings: dict[str, Any],
    seeds: Sequence[int],
    output: Path | None,
    jobs: int,
    *,
    quiet: bool,
) -> dict[str, Any]:
    from mpxgat.experiments.audit import audit as run_audit
    from mpxgat.training.parallel import Processes, Session

    with progress(f"reading {data}", quiet=quiet):
        graph, label = load_data(data, format)
    if output is not None:
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise OutputError(f"{printable(output, 300)}: cannot make it: {printable(problem.strerror)}") from None
    with training_progress(quiet=quiet) as report:
        session = replace(Session(engine=Processes(jobs)), report=report)
        return run_audit(graph, label, settings, seeds, output, session)


def _keep(output: Path, found: dict[str, Any]) -> None:
    from mpxgat.io.files import json_bytes, write_files

    write_files({output / "audit.json": json_bytes(found)})
    _write_chart([found], output)


def _write_chart(records: Sequence[Record], folder: Path) -> None:
    from importlib.util import find_spec

    from mpxgat.experiments.audit_tables import write_audit_chart

    if find_spec("matplotlib") is None:
        print_note("no chart: it needs matplotlib; install it with: pip install 'mpxgat[plots]'")
        return
    write_audit_chart(records, folder)


def _show_recorded(folder: Path, output: Path | None, *, json: bool) -> None:
    from mpxgat.experiments.audit_tables import markdown_audits, read_records
    from mpxgat.experiments.tables import write_section

    records = read_records(folder)
    if output is not None and output.suffix == ".md":
        write_section(output, _SECTION, markdown_audits(records))
    elif output is not None:
        _write_chart(records, output)
    elif json:
        print_json({"audits": records})
    else:
        _print(records)


def _print(records: Sequence[Record]) -> None:
    from mpxgat.experiments.audit_tables import rows_by_way

    for found in records:
        seeds = ", ".join(map(str, found["seeds"]))
        title = f"{found['dataset']}: AUC of preset reference, seed(s) {seeds}"
        print_table(["", "within layers", "between layers"], rows_by_way(found), title=title)
    sys.stdout.flush()
    print_note(_NOTE, limit=1000)
