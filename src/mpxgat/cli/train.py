"""`mpxgat train`: fit a model to a network and keep it in a folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.cli.info import print_training, run_record
from mpxgat.cli.options import (
    AddressOption,
    BatchOption,
    ConfigOption,
    DataArgument,
    EngineOption,
    EpochsOption,
    FormatOption,
    JobsOption,
    JsonOption,
    PublishedOption,
    SetOption,
    WorkersOption,
    chosen_engine,
    load_data,
    parse_settings,
)
from mpxgat.cli.output import print_json, print_note, progress, training_progress
from mpxgat.errors import MpxgatError, TrainingError, printable

if TYPE_CHECKING:
    from mpxgat.models import Model
    from mpxgat.runs import RunFolder
    from mpxgat.training.parallel import Engine

_SEED = 0
_MODEL, _MODEL_WITH_SETTINGS = "auto", "mpxgat"
_USUAL = f"{_MODEL}, or {_MODEL_WITH_SETTINGS} if settings are given"


def train(
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="RUN", help="The folder to keep the run in.")],
    model: Annotated[
        str | None,
        typer.Option(help=f"The model's name. Default: {_USUAL}."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help=f"The same seed gives the same bytes. Default: {_SEED}.")
    ] = None,
    epochs: EpochsOption = None,
    batch: BatchOption = None,
    sets: SetOption = None,
    config: ConfigOption = None,
    published: PublishedOption = None,
    jobs: JobsOption = 1,
    engine: EngineOption = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in the folder; what is not given is as it was begun.")
    ] = False,
    format: FormatOption = None,
    json: JsonOption = False,
    save_every: Annotated[float, typer.Option(min=0, hidden=True, help="Seconds between checkpoints.")] = 20.0,
) -> None:
    """Train a model; stopped or killed at any moment, it goes on with --resume and ends in the same bytes."""
    from mpxgat.runs import RunFolder

    folder = RunFolder(output)
    side_by_side = chosen_engine(engine, address, workers, jobs)
    made = _model(folder, model, seed, parse_settings(sets or [], config, published, epochs, batch), resume=resume)
    try:
        with folder.locked():
            _train(folder, made, data, format, side_by_side, save_every, quiet=json)
    except KeyboardInterrupt:
        if folder.holds_run() and not folder.finished:
            print_note(_how_to_go_on(folder, data, format), limit=4000)
        raise
    if json:
        print_json(run_record(folder))
    else:
        print_training(folder)


def _model(folder: RunFolder, name: str | None, seed: int | None, given: dict[str, Any], *, resume: bool) -> Model:
    """The unfitted model; on resuming, what is not given is as the run was begun."""
    from mpxgat.models import make_model

    begun = None
    if folder.holds_run():
        begun = folder.config()
        if not resume:
            raise TrainingError(
                f"{printable(folder.path, 300)} holds a run already; go on with it by --resume, or name another folder"
            )
    elif resume:
        print_note(f"no run in {folder.path} yet: this is its beginning")
    if begun is None:
        # `auto` has no settings, so who gives some means the paper's model.
        usual = _MODEL_WITH_SETTINGS if given else _MODEL
        return make_model(name or usual, seed=_SEED if seed is None else seed, **given)
    same_model = name in (None, begun.model)
    settings = {**begun.settings, **given} if same_model else given
    return make_model(name or begun.model, seed=begun.seed if seed is None else seed, **settings)


def _train(
    folder: RunFolder, model: Model, data: str, format: str | None, engine: Engine, save_every: float, *, quiet: bool
) -> None:
    from mpxgat.runs import RunConfig

    with progress(f"reading {data}", quiet=quiet):
        graph, label = load_data(data, format)
        config = RunConfig.of(model, graph, label)
        folder.begin(config)
    if folder.finished:
        print_note(f"{folder.path} is finished: nothing to do")
        return
    changed = folder.config().other_versions(config)
    if changed:
        print_note(f"the run was begun with {', '.join(changed)}: it may end in other bytes than it would have")
    try:
        with training_progress(quiet=quiet) as report:
            model.fit(graph, folder.session(report, engine=engine, save_every=save_every))
    except MpxgatError:
        folder.abandon()
        raise
    folder.finish(model)


def _how_to_go_on(folder: RunFolder, data: str, format: str | None) -> str:
    words = ["mpxgat", "train", data, "-o", str(folder.path), *(["--format", format] if format else []), "--resume"]
    return f"the run is not finished; go on with: {shlex.join(words)}"
