"""`mpxgat benchmark`: the paper's tables, studies over swept values, and experiments of one's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Annotated

import typer

from mpxgat.cli.options import (
    AddressOption,
    EngineOption,
    JsonOption,
    LayoutOption,
    WorkersOption,
    chosen_engine,
    own_models,
)
from mpxgat.cli.output import console_for, print_json, print_note, print_table
from mpxgat.errors import OutputError, SettingError, printable, quoted

if TYPE_CHECKING:
    from mpxgat.experiments.config import Experiment
    from mpxgat.experiments.records import CellKey, CellRecord
    from mpxgat.experiments.runner import Event, Failed
    from mpxgat.experiments.tables import ResultsTable
    from mpxgat.training.parallel import Engine


TABLES = ("2", "3", "4", "5", "6")  # as the paper counts; its first lists symbols
_SIZES = "2"
STUDIES = ("overlap", "mixing", "density", "known", "layers")

app = typer.Typer(no_args_is_help=True, help="Run experiments and make their tables and charts; resumable.")

SeedsOption = Annotated[
    int | None, typer.Option(min=1, help="Number of repetitions; the experiment's own if not given.")
]
FirstSeedOption = Annotated[
    int | None, typer.Option(min=0, help="Seed of the first one: 0, or 100 with --quick, if not given.")
]
QuickOption = Annotated[bool, typer.Option("--quick", help="A smaller version, which its tables say; kept apart.")]
JobsOption = Annotated[int, typer.Option(min=1, help="Cells computed in parallel, each in its own process.")]
ResultsOption = Annotated[
    Path, typer.Option(metavar="FOLDER", help="Results on record: all *.jsonl in it are read, one is added to.")
]
RecordedOption = Annotated[bool, typer.Option("--recorded", help="Compute nothing: show what is on record.")]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write the tables to a file: Markdown, or LaTeX (.tex) or CSV (.csv)."),
]
ModelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="One more model on every network: a name, or package.module:Class of your own; any number of times.",
        callback=own_models,
    ),
]
IntoOption = Annotated[
    Path | None, typer.Option(help="Put each table into a Markdown file, between the markers of its section.")
]
ChartsOption = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Where charts go. Default: charts in the results folder.")
]

_RESULTS = Path("mpxgat-results")


@dataclass(frozen=True)
class _Request:
    """What all these commands are asked alike."""

    seeds: int | None
    first_seed: int | None
    quick: bool
    engine: Engine
    results: Path
    added_to: str
    recorded: bool
    output: Path | None
    into: Path | None
    json: bool
    models: Sequence[str] | None
    layout: str | None
    charts: Path | None = None

    @property
    def folder(self) -> Path:
        """Results of quick versions are never among the others."""
        return self.results / "quick" if self.quick else self.results


@app.command("paper")
def paper(
    table: Annotated[
        list[str] | None, typer.Option(metavar="N", help="2 to 6, as in the paper; all if not given.")
    ] = None,
    dataset: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this data set.")] = None,
    seeds: SeedsOption = None,
    first_seed: FirstSeedOption = None,
    quick: QuickOption = False,
    jobs: JobsOption = 1,
    engine: EngineOption = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    results: ResultsOption = _RESULTS,
    recorded: RecordedOption = False,
    output: OutputOption = None,
    into: IntoOption = None,
    model: ModelsOption = None,
    layout: LayoutOption = None,
    json: JsonOption = False,
) -> None:
    """The tables of the MPXGAT paper, leak-free, with the published figures beside."""
    from mpxgat.experiments.config import CONFIGS
    from mpxgat.experiments.tables import read_dataset_table

    chosen = [_one_of(TABLES, number, "table") for number in table or TABLES]
    runs_on = chosen_engine(engine, address, workers, jobs)
    request = _Request(
        seeds, first_seed, quick, runs_on, results, "paper.jsonl", recorded, output, into, json, model, layout
    )
    experiments = _experiments([CONFIGS / f"table{number}.toml" for number in chosen if number != _SIZES], request)
    sizes = read_dataset_table(CONFIGS / f"table{_SIZES}.toml")
    if dataset:
        known = {entry.name: None for entry in sizes.entries if _SIZES in chosen}
        known |= {str(cell.graph.dataset): None for experiment in experiments for cell in experiment.cells}
        for name in dataset:
            _one_of(tuple(known), name, "data set")
        narrowed = [experiment.only(dataset) for experiment in experiments]
        experiments = [experiment for experiment in narrowed if experiment.cells]
    _run(experiments, request, [sizes.make(dataset or ())] if _SIZES in chosen else [])


@app.command("sweep")
def sweep(
    study: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help=f"{', '.join(STUDIES)}; all if not given.")
    ] = None,
    seeds: SeedsOption = None,
    first_seed: FirstSeedOption = None,
    quick: QuickOption = False,
    jobs: JobsOption = 1,
    engine: EngineOption = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    results: ResultsOption = _RESULTS,
    charts: ChartsOption = None,
    recorded: RecordedOption = False,
    output: OutputOption = None,
    into: IntoOption = None,
    model: ModelsOption = None,
    layout: LayoutOption = None,
    json: JsonOption = False,
) -> None:
    """Studies the paper leaves open: AUC over properties of planted networks, and over layers added one by one."""
    from mpxgat.experiments.config import CONFIGS

    chosen = [_one_of(STUDIES, name, "study") for name in study or STUDIES]
    runs_on = chosen_engine(engine, address, workers, jobs)
    request = _Request(
        seeds, first_seed, quick, runs_on, results, "sweep.jsonl", recorded, output, into, json, model, layout, charts
    )
    _run(_experiments([CONFIGS / f"{name}.toml" for name in chosen], request), request)


@app.command("run")
def run(
    config: Annotated[
        list[Path], typer.Argument(metavar="FILE.toml…", help="Experiments as docs/experiments.md says.")
    ],
    seeds: SeedsOption = None,
    first_seed: FirstSeedOption = None,
    quick: QuickOption = False,
    jobs: JobsOption = 1,
    engine: EngineOption = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    results: ResultsOption = _RESULTS,
    charts: ChartsOption = None,
    recorded: RecordedOption = False,
    output: OutputOption = None,
    into: IntoOption = None,
    model: ModelsOption = None,
    layout: LayoutOption = None,
    json: JsonOption = False,
) -> None:
    """Experiments of your own, each a TOML file."""
    runs_on = chosen_engine(engine, address, workers, jobs)
    request = _Request(
        seeds, first_seed, quick, runs_on, results, "run.jsonl", recorded, output, into, json, model, layout, charts
    )
    _run(_experiments(config, request), request)


def _one_of(known: Sequence[str], name: str, what: str) -> str:
    if name not in known:
        raise SettingError(f"no {what} {quoted(name)}; known are {', '.join(known)}")
    return name


def _experiments(paths: Sequence[Path], request: _Request) -> list[Experiment]:
    """Read and check everything, before anything is computed."""
    from mpxgat.experiments.config import check_experiment, read_config
    from mpxgat.experiments.sweep_chart import require_plots

    experiments = []
    for path in paths:
        experiment = read_config(path)
        if request.quick:
            experiment = experiment.quick_version()
        for model in request.models or ():
            experiment = experiment.with_model(model)
        if request.seeds is not None or request.first_seed is not None:
            first = experiment.seeds[0] if request.first_seed is None else request.first_seed
            experiment = experiment.with_seeds(first, request.seeds or len(experiment.seeds))
        check_experiment(experiment)
        experiments.append(experiment)
    if any(experiment.sweep for experiment in experiments):
        require_plots()
    return experiments


def _run(experiments: Sequence[Experiment], request: _Request, tables: Sequence[ResultsTable] = ()) -> None:
    """Compute what is missing, then show ``tables`` and those of the experiments; exit code 2 if a cell failed."""
    _check_outputs([*(table.name for table in tables), *(experiment.name for experiment in experiments)], request)
    try:
        _run_and_show(experiments, request, tables)
    except KeyboardInterrupt:
        if request.folder.exists() and not request.recorded:
            print_note(f"what is finished is on record in {request.folder}; start the same command again to continue")
        raise


def _run_and_show(experiments: Sequence[Experiment], request: _Request, tables: Sequence[ResultsTable]) -> None:
    from mpxgat.experiments.sweep_chart import write_chart
    from mpxgat.experiments.tables import make_table

    on_record, failed = _compute(experiments, request)
    made = [make_table(experiment, on_record) for experiment in experiments]
    folder = request.charts or request.folder / "charts"
    charts = {e.name: write_chart(e, t, folder) for e, t in zip(experiments, made, strict=True) if e.sweep}
    _show([*tables, *made], charts, failed, request)
    if failed:
        for failure in failed:
            print_note(f"failed: {_describe(failure.key)}: {failure.problem}", limit=4000)
        raise typer.Exit(2)


def _check_outputs(names: Sequence[str], request: _Request) -> None:
    """What would go wrong at the end is reported at the beginning."""
    from mpxgat.experiments.layouts import CSV, MARKDOWN, chosen_layout
    from mpxgat.experiments.tables import find_section

    layout = chosen_layout(request.layout, request.output)
    if request.json and request.layout is not None:
        raise SettingError(f"--format {quoted(request.layout)} beside --json, expected one of them")
    if request.into is not None and layout not in (None, MARKDOWN):
        raise SettingError(f"--into puts tables into Markdown, found the format {layout}; expected --output with it")
    if layout == CSV and len(names) > 1:
        raise SettingError(f"a CSV file holds one table, found {len(names)} ({', '.join(names)}); expected one")
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"two experiments are called {quoted(name)}, expected a name of its own for each")
        if request.into is not None:
            find_section(request.into, name)
    if request.output is not None and not request.output.parent.is_dir():
        raise OutputError(f"{printable(request.output, 300)}: there is no folder {quoted(request.output.parent, 300)}")


def _compute(experiments: Sequence[Experiment], request: _Request) -> tuple[dict[str, CellRecord], list[Failed]]:
    """What is on record in the end, and what failed."""
    from mpxgat.experiments.records import ResultsFolder
    from mpxgat.experiments.runner import Failed, missing_keys, run_cells

    folder = ResultsFolder(request.folder, request.added_to)
    keys = missing_keys((key for experiment in experiments for key in experiment.cell_keys()), ())
    if request.recorded or not keys:
        return folder.read(), []
    failed = []
    with folder.locked():
        missing = missing_keys(keys, folder.read())
        if not request.json:
            print_note(f"{len(keys) - len(missing)} of {len(keys)} results are on record in {folder.path}")
        with _progress(missing, request.engine.jobs, quiet=request.json) as show:
            for event in run_cells(missing, folder, request.engine):
                show(event)
                if isinstance(event, Failed):
                    failed.append(event)
        return folder.read(), failed


def _show(
    tables: Sequence[ResultsTable], charts: dict[str, list[Path]], failed: Sequence[Failed], request: _Request
) -> None:
    """Print, and write where asked to."""
    from mpxgat.experiments.layouts import CSV, MARKDOWN, chosen_layout
    from mpxgat.experiments.tables import write_section
    from mpxgat.io.files import write_files

    layout = chosen_layout(request.layout, request.output) or MARKDOWN
    texts = [_text(table, layout, charts.get(table.name), request.output) for table in tables]
    if request.json:
        print_json(
            {
                "quick": request.quick,
                "tables": [table.to_record() for table in tables],
                "charts": [str(path) for paths in charts.values() for path in paths],
                "failed": [{"cell": _describe(failure.key), "problem": failure.problem} for failure in failed],
            }
        )
    elif request.layout is not None and request.output is None:
        sys.stdout.write("\n".join(texts))
        if layout == CSV:  # which has no place for them
            for table in tables:
                print_note(" ".join(table.notes), limit=4000)
    else:
        for table in tables:
            print_table(table.columns, table.rows, title=table.title)
            print_note(" ".join(table.notes), limit=4000)
    if not request.json:
        for paths in charts.values():
            print_note(f"the chart is in {paths[0]} and {paths[1].name}")
    if request.output is not None:
        write_files({request.output: "\n".join(texts).encode()})
    if request.into is not None:
        for table in tables:
            text = _text(table, MARKDOWN, charts.get(table.name), request.into)
            write_section(request.into, table.name, text)


def _text(table: ResultsTable, layout: str, chart: Sequence[Path] | None, page: Path | None) -> str:
    """The table; in Markdown, the chart above it as seen from the page."""
    from mpxgat.experiments.layouts import MARKDOWN

    if chart is None or page is None or layout != MARKDOWN:
        return table.text(layout)
    return f"![{table.title}]({Path(os.path.relpath(chart[0], page.parent)).as_posix()})\n\n{table.markdown()}"


def _describe(key: CellKey) -> str:
    """A cell in few words."""
    return printable(f"{key.dataset}, {key.model}, seed {key.seed}", 200)


class TimeLeft:
    """How long cells will take: as long as those done of the same model and data set, or model, or at all."""

    def __init__(self, keys: Sequence[CellKey], jobs: int):
        self._to_do = list(keys)
        self._jobs = jobs
        self._seconds: dict[tuple[str, ...], list[float]] = {}

    def done(self, key: CellKey, seconds: float) -> None:
        """A cell is done and took so long."""
        self._to_do.remove(key)
        for kind in _kinds(key):
            self._seconds.setdefault(kind, []).append(seconds)

    def text(self) -> str:
        """Hours, minutes and seconds; a question mark before the first is done."""
        if not self._seconds:
            return "?"
        known = [next(self._seconds[kind] for kind in _kinds(key) if kind in self._seconds) for key in self._to_do]
        return str(timedelta(seconds=round(sum(map(mean, known)) / self._jobs)))


def _kinds(key: CellKey) -> tuple[tuple[str, ...], ...]:
    return (key.model, key.dataset), (key.model,), ()


@contextmanager
def _progress(keys: Sequence[CellKey], jobs: int, *, quiet: bool = False) -> Iterator[Callable[[Event], None]]:
    """Gives the function to call with every event: cells done and to do, those running, time left.

    Standard error has a bar, or a line a cell if it is no terminal.
    """
    if quiet or not keys:
        yield lambda event: None
    elif sys.stderr.isatty():
        with _bar(keys, jobs) as show:
            yield show
    else:
        done = 0

        def note(event: Event) -> None:
            nonlocal done
            if not _is_start(event):
                done += 1
                print_note(f"{done} of {len(keys)}: {_describe(event.key)}: {_outcome(event)}")

        yield note


@contextmanager
def _bar(keys: Sequence[CellKey], jobs: int) -> Iterator[Callable[[Event], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    columns = (
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    with Progress(*columns, console=console_for(sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=len(keys))
        left = TimeLeft(keys, jobs)
        begun: dict[str, float] = {}
        running: dict[str, str] = {}

        def show(event: Event) -> None:
            if _is_start(event):
                begun[event.key.text()] = bar.get_time()
                running[event.key.text()] = _describe(event.key)
            else:
                left.done(event.key, bar.get_time() - begun[event.key.text()])
                name = running.pop(event.key.text())
                bar.advance(task)
                bar.console.print(f"{name}: {_outcome(event)}", markup=False, highlight=False)
            bar.update(task, description=f"about {left.text()} left · {' · '.join(running.values())}")

        yield show


def _is_start(event: Event) -> bool:
    from mpxgat.experiments.runner import Started

    return isinstance(event, Started)


def _outcome(event: Event) -> str:
    from mpxgat.experiments.runner import Finished

    if not isinstance(event, Finished):
        return "failed"
    measures = event.record.measures
    aucs = {kind: measures[kind]["auc"] for kind in ("intra", "inter")}
    return ", ".join(f"{kind} AUC {auc:.4f}" for kind, auc in aucs.items() if auc is not None) or "no links to tell"
