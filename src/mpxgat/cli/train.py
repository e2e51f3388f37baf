"""`mpxgat train`: fit a model to a network and keep it in a folder."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.cli.options import (
    AddressOption,
    BatchOption,
    CompareOption,
    ConfigOption,
    DataArgument,
    DifferentOption,
    DirectedOption,
    EngineOption,
    EpochsOption,
    FeaturesOption,
    FormatOption,
    JobsOption,
    JsonOption,
    PublishedOption,
    SetOption,
    WorkersOption,
    add_different,
    add_features,
    chosen_engine,
    chosen_model,
    data_label,
    data_options,
    load_data,
    model_option,
    note_attributes,
    note_unread,
    parse_features,
    parse_settings,
)
from mpxgat.cli.output import print_fields, print_json, print_note, print_table, progress, training_progress
from mpxgat.errors import MpxgatError, SettingError, TrainingError, printable

if TYPE_CHECKING:
    from mpxgat.graph import MultiplexGraph
    from mpxgat.models import Model
    from mpxgat.runs import RunFolder
    from mpxgat.training.parallel import Engine

_SEED = 0
_MODEL = "auto"


def train(
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="RUN", help="The folder to keep the run in.")],
    model: Annotated[str | None, model_option(_MODEL)] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help=f"The same seed gives the same bytes on the same machine. Default: {_SEED}."),
    ] = None,
    epochs: EpochsOption = None,
    batch: BatchOption = None,
    sets: SetOption = None,
    config: ConfigOption = None,
    published: PublishedOption = None,
    compare: CompareOption = None,
    features: FeaturesOption = None,
    jobs: JobsOption = 1,
    engine: EngineOption = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in the folder; what is not given is as it was begun.")
    ] = False,
    directed: DirectedOption = False,
    different: DifferentOption = None,
    format: FormatOption = None,
    json: JsonOption = False,
    save_every: Annotated[float, typer.Option(min=0, hidden=True, help="Seconds between checkpoints.")] = 20.0,
) -> None:
    """Train a model; stopped or killed at any moment, it continues with --resume and ends in the same bytes."""
    from mpxgat.runs import RunFolder

    folder = RunFolder(output)
    side_by_side = chosen_engine(engine, address, workers, jobs)
    given = parse_settings(sets or [], config, published, epochs, batch, compare)
    columns = parse_features(features)
    if folder.holds_run():
        made = _model_begun(folder, model, seed, given, resume=resume)
    else:
        if resume:
            print_note(f"no run in {folder.path} yet: this is its beginning")
        made = _new_model(chosen_model(model, config, ""), seed, given)
    folder.check_free()
    try:
        with progress(f"reading {data}", quiet=json):
            graph = add_different(load_data(data, format, directed=directed)[0], different)
        graph, label = add_features(graph, columns), data_label(data, directed=directed, features=columns)
        note_unread(made, graph)
        note_attributes(made, graph, columns)
        with folder.locked():
            _train(folder, made, graph, label, side_by_side, save_every, quiet=json)
    except KeyboardInterrupt:
        if folder.holds_run() and not folder.finished:
            begun = [data, *data_options(directed=directed, features=columns)]
            print_note(_how_to_go_on(folder, begun, format, different), limit=4000)
        raise
    if json:
        print_json(folder.to_record())
    else:
        print_training(folder)


def _new_model(name: str, seed: int | None, given: dict[str, Any]) -> Model:
    """The model of a run that begins; SettingError for settings that are nobody's, as the default model has none."""
    from mpxgat.models import make_model

    if given.keys() - {"compare"} and not name:  # which the default model has
        raise SettingError(
            f"settings are given ({printable(', '.join(given), 200)}) but no model; "
            "add --model mpxgat, or another model's name"
        )
    return make_model(name or _MODEL, seed=_SEED if seed is None else seed, **given)


def _model_begun(
    folder: RunFolder, name: str | None, seed: int | None, given: dict[str, Any], *, resume: bool
) -> Model:
    """The model of a run that continues: what is not given is as the run was begun."""
    from mpxgat.models import make_model

    if not resume:
        raise TrainingError(
            f"{printable(folder.path, 300)} holds a run already; continue it with --resume, or name another folder"
        )
    begun = folder.config()
    settings = {**begun.settings, **given} if name in (None, begun.model) else given
    return make_model(name or begun.model, seed=begun.seed if seed is None else seed, **settings)


def _train(
    folder: RunFolder, model: Model, graph: MultiplexGraph, data: str, engine: Engine, save_every: float, *, quiet: bool
) -> None:
    from mpxgat.runs import RunConfig

    config = RunConfig.of(model, graph, data)
    folder.begin(config)
    if folder.finished:
        print_note(f"{folder.path} is finished: nothing to do")
        return
    changed = folder.config().other_conditions(config)
    if changed:
        print_note(f"the run was begun with {', '.join(changed)}: it may end in other bytes than it would have")
    try:
        with training_progress(quiet=quiet) as report:
            model.fit(graph, folder.session(report, engine=engine, save_every=save_every))
    except MpxgatError:
        folder.abandon()
        raise
    folder.finish(model)


def _how_to_go_on(folder: RunFolder, data: list[str], format: str | None, different: Path | None) -> str:
    given = [
        word
        for name, value in (("--format", format), ("--different", different))
        if value
        for word in (name, str(value))
    ]
    words = ["mpxgat", "train", *data, "-o", str(folder.path), *given, "--resume"]
    return f"the run is not finished; continue with: {shlex.join(words)}"


def print_training(folder: RunFolder) -> None:
    """The parts of a training, β and choices where the model has them; one line where nothing is trained."""
    training = folder.training()
    parts: Mapping[str, Mapping[str, Any]] = training.get("parts", {})
    if parts:
        # Full batch is usual: only another choice is shown.
        batches = any(isinstance(part.get("batch"), int) for part in parts.values())
        print_table(
            ("part", *(["links in a step"] if batches else []), "epochs", "best epoch", "best validation AUC"),
            [
                (
                    name,
                    *([_links_in_a_step(part)] if batches else []),
                    part["epochs"],
                    None if part["best"] is None else part["best_epoch"],
                    part["best"],
                )
                for name, part in parts.items()
            ],
        )
    if any(training.get("beta", [])):
        print_fields({"β": "; ".join(_betas(number, block) for number, block in enumerate(training["beta"], 1))})
    _print_choice(training)
    if folder.finished:
        print_note(f"the model is in {folder.model_path}")


def _print_choice(training: Mapping[str, Any]) -> None:
    """How well models did on validation links of each kind, and which was chosen."""
    validation: Mapping[str, Mapping[str, float]] = training.get("validation", {})
    names = list(next(iter(validation.values()), {}))
    if names:
        rows = [(f"{kind} links", *(values[name] for name in names)) for kind, values in validation.items()]
        print_table(("validation AUC", *names), rows)
    if training.get("candidate_recall") is not None:
        print_fields({"hidden links among candidates": f"{training['candidate_recall']:.1%}{_by_source(training)}"})
    if "chosen" in training:
        print_fields({"predicts links by": training["chosen"]})


def _by_source(training: Mapping[str, Any]) -> str:
    """What proposed them, where attributes do too."""
    found: Mapping[str, float] = training.get("candidate_recall_by", {})
    return f" ({', '.join(f'{share:.1%} by {source}' for source, share in found.items())})" if found else ""


def _links_in_a_step(part: Mapping[str, Any]) -> str:
    batch = part.get("batch")
    return f"{batch:,}" if isinstance(batch, int) else "all"


def _betas(number: int, block: list[float]) -> str:
    return f"block {number}: " + (", ".join(f"{value:.3f}" for value in block) or "none")
