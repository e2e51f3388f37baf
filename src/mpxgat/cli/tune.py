"""`mpxgat tune`: search for settings, evaluated on validation links only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.cli.options import (
    SPLIT_SUFFIX,
    BatchOption,
    DirectedOption,
    EpochsOption,
    FormatOption,
    JsonOption,
    load_data,
    model_option,
    parse_settings,
)
from mpxgat.cli.output import print_json, print_note, print_table, progress, training_progress
from mpxgat.errors import MissingExtraError, SettingError, TrainingError, quoted

if TYPE_CHECKING:
    from mpxgat.graph import MultiplexGraph
    from mpxgat.splits import Split
    from mpxgat.tuning.search import Method, Search
    from mpxgat.tuning.trials import Trial

_SHOWN_TRIALS = 10


def tune(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A data set's name, a file, or a split (.split), of which only the training graph is read.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="The folder to keep the search in.")],
    model: Annotated[str, model_option("mpxgat")] = "mpxgat",
    grid: Annotated[Path | None, typer.Option(help="A TOML file with lists of values to combine.")] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Search with optuna, so many trials in total.")] = None,
    space: Annotated[
        Path | None,
        typer.Option(help="A TOML file with ranges for --trials: lr = {low = 1e-5, high = 1e-2, log = true}."),
    ] = None,
    measure: Annotated[str, typer.Option(help="The AUC to choose by: intra, inter or overall.")] = "overall",
    seed: Annotated[
        int, typer.Option(min=0, help="Of hidden links, models and draws; 0 to 9 are for reporting.")
    ] = 100,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="The same in all trials, whatever the file says."),
    ] = None,
    epochs: EpochsOption = None,
    batch: BatchOption = None,
    prune: Annotated[bool, typer.Option(help="Give up a trial of --trials that does worse than the median.")] = True,
    jobs: Annotated[int, typer.Option(min=1, help="Trials in parallel, each in its own process.")] = 1,
    directed: DirectedOption = False,
    format: FormatOption = None,
    json: JsonOption = False,
) -> None:
    """Find good settings: hide validation links, train each choice without them; run again, a search continues."""
    from mpxgat.tuning.search import Objective, Search, SearchFolder, check_measure

    check_measure(measure)
    method = _method(model, grid, trials, space, parse_settings(sets or [], None, None, epochs, batch), prune=prune)
    with progress(f"reading {data}", quiet=json):
        graph, label, validation = _validation(data, format, seed, directed=directed)
    search = Search(SearchFolder(output), Objective(model, measure, seed, validation), method, label)
    try:
        search.begin(graph)
        _run(search, jobs, quiet=json)
    except KeyboardInterrupt:
        if search.folder.begun:
            # Said without a look at the record: a library that was interrupted while it loaded is of no use any more.
            print_note("finished trials are on record; the same command continues with the rest")
        raise
    _print_result(search, json=json)


def _method(
    model: str, grid: Path | None, trials: int | None, space: Path | None, fixed: Mapping[str, Any], *, prune: bool
) -> Method:
    """The trials to run; everything that can be wrong with them is reported here, before data is read."""
    from mpxgat.models import make_model
    from mpxgat.tuning.grid import grid_method, read_grid

    if (grid is None) == (trials is None):
        raise SettingError(
            f"{'neither' if grid is None else 'both'} of --grid and --trials given, expected one of them"
        )
    if space is not None and trials is None:
        raise SettingError("--space given without --trials, expected both or neither")
    if not make_model(model).settings:
        raise SettingError(f"the model {quoted(model)} has no settings: there is nothing to tune")
    if grid is not None:
        values = {**read_grid(grid), **{name: [value] for name, value in fixed.items()}}
        return grid_method(model, values)
    assert trials is not None
    try:
        from mpxgat.tuning.optuna_search import default_space, optuna_method, read_space
    except ImportError:
        raise MissingExtraError("optuna", "tune", "Searching with --trials") from None
    ranges = {**(default_space(model) if space is None else read_space(space)), **fixed}
    return optuna_method(model, ranges, trials, prune=prune)


def _validation(data: str, format: str | None, seed: int, *, directed: bool) -> tuple[MultiplexGraph, str, Split]:
    """The graph to be tuned on, its label, and the split of it that trials are fitted and evaluated on."""
    from mpxgat.splits import load_split, validation_split

    if not data.endswith(SPLIT_SUFFIX):
        graph, label = load_data(data, format, directed=directed)
        return graph, label, validation_split(graph, "marked", seed)
    if format is not None:
        raise SettingError(f"--format {quoted(format)} with a saved split, expected none")
    if directed:
        raise SettingError("--directed with a saved split, which is made already; expected none")
    split = load_split(data)
    return split.train, data, split.validation(seed)


def _run(search: Search, jobs: int, *, quiet: bool) -> None:
    def tell(trial: Trial) -> None:
        if not quiet:
            print_note(f"trial {trial.number} of {search.method.total}: {_outcome(trial)}, {trial.seconds:.1f} s")

    known = len(search.trials())
    if known and not quiet:
        print_note(f"{known} trial(s) are on record already")
    if jobs == 1:
        search.run(partial(training_progress, quiet=quiet), tell)
    else:
        search.run_side_by_side(jobs, tell)


def _outcome(trial: Trial) -> str:
    if trial.state == "finished":
        return f"{trial.measure} AUC {trial.value:.4f}"
    return f"failed: {trial.problem}" if trial.state == "failed" else trial.state


def _print_result(search: Search, *, json: bool) -> None:
    from mpxgat.tuning.trials import ranked

    trials = search.trials()
    best = ranked(trials)[:_SHOWN_TRIALS]
    if not best:
        reason = next((trial.problem for trial in trials if trial.problem), "all run in another process")
        raise TrainingError(f"no trial has finished, {len(trials)} failed: {reason}")
    counts = {state: sum(trial.state == state for trial in trials) for state in ("finished", "pruned", "failed")}
    if json:
        print_json(_record(search, counts, best))
        return
    objective = search.objective
    _print_trials(
        f"{search.data}, {objective.model}: best by {objective.measure} AUC on validation links",
        search.method.varied,
        best,
    )
    said = ", ".join(f"{count} {state}" for state, count in counts.items())
    if len(trials) < search.method.total:
        said += ", the others run in another process"
    print_note(f"{said}; the best settings are in {search.folder.best_path}")


def _record(search: Search, counts: Mapping[str, int], best: Sequence[Trial]) -> dict[str, Any]:
    from dataclasses import asdict

    objective = search.objective
    head = {"data": search.data, "model": objective.model, "measure": objective.measure, "seed": objective.seed}
    return {**head, "trials": counts, "config": str(search.folder.best_path), "best": [asdict(trial) for trial in best]}


def _print_trials(title: str, varied: Sequence[str], trials: Sequence[Trial]) -> None:
    kinds = ("intra", "inter", "overall")
    columns = ["trial", *varied, *(f"{kind} AUC" for kind in kinds), "epochs", "seconds"]
    rows = [
        [
            trial.number,
            *(_shown(trial.settings[name]) for name in varied),
            *(trial.auc[kind] for kind in kinds),
            trial.epochs,
            f"{trial.seconds:.1f}",
        ]
        for trial in trials
    ]
    print_table(columns, rows, title=title)


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
