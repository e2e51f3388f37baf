"""`mpxgat evaluate`: how well a model predicts hidden links, leak-free."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.cli.options import (
    SPLIT_SUFFIX,
    AddressOption,
    BatchOption,
    CompareOption,
    ConfigOption,
    DifferentOption,
    DirectedOption,
    EngineOption,
    EpochsOption,
    FeaturesOption,
    FormatOption,
    HiddenOption,
    JsonOption,
    KnownOption,
    ProtocolOption,
    PublishedOption,
    SetOption,
    WorkersOption,
    add_different,
    add_features,
    chosen_engine,
    chosen_model,
    chosen_split,
    complete_data,
    data_label,
    load_data,
    model_option,
    note_attributes,
    note_unread,
    parse_features,
    parse_settings,
)
from mpxgat.cli.output import print_json, print_note, print_table, progress
from mpxgat.errors import SettingError, quoted

if TYPE_CHECKING:
    from mpxgat.evaluation import Repetitions
    from mpxgat.features import FeatureColumn
    from mpxgat.models import Model
    from mpxgat.splits import Split
    from mpxgat.training.parallel import Engine

_MODEL = "rules"
_WORTH_PROCESSES = 1000  # nodes; in a smaller network a process takes longer to start than a layer to train

_INTRA = [f"intra {measure}" for measure in ("auc", "ap")]
_INTER = [f"inter {measure}" for measure in ("auc", "auc_hard", "ap")]
_RANKS = ("hits@1", "hits@5", "hits@10", "hits@30", "mrr")


def evaluate(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A data set's name, a file, or a split (.split) saved before.",
            autocompletion=complete_data,
        ),
    ],
    model: Annotated[str | None, model_option(_MODEL)] = None,
    protocol: ProtocolOption = None,
    known: KnownOption = None,
    hidden: HiddenOption = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of repetitions.")] = 1,
    first_seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the first one, 0 by default; tune on 100 and above.")
    ] = None,
    set: SetOption = None,
    config: ConfigOption = None,
    published: PublishedOption = None,
    epochs: EpochsOption = None,
    batch: BatchOption = None,
    compare: CompareOption = None,
    features: FeaturesOption = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Layers or inner splits learned in parallel, each in its own process. Default: this machine's "
            f"processors, in a network of {_WORTH_PROCESSES} nodes and more.",
        ),
    ] = None,
    engine: EngineOption = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    directed: DirectedOption = False,
    different: DifferentOption = None,
    format: FormatOption = None,
    json: JsonOption = False,
) -> None:
    """Hide links, fit on the rest, predict the hidden ones: AUC, average precision, ranks of true counterparts."""
    from mpxgat.models import make_model
    from mpxgat.system import peak_rss_mb

    settings = parse_settings(set or [], config, published, epochs, batch, compare)
    columns = parse_features(features)
    runs_on = chosen_engine(engine, address, workers, jobs or 1)
    name = chosen_model(model, config, _MODEL)
    made = make_model(name, **settings)  # a wrong name or setting is reported before anything is read
    with progress(f"reading {data}", quiet=json):
        reading, hiding = (format, different), (protocol, known, hidden)
        label, splits = _splits(data, reading, hiding, first_seed, seeds, columns, directed=directed)
    note_unread(made, splits[0].train)
    note_attributes(made, splits[0].train, columns)
    if jobs is None and not runs_on.always and splits[0].train.n_nodes >= _WORTH_PROCESSES:
        runs_on = chosen_engine(engine, address, workers, os.cpu_count() or 1)
    # A table never shows a model without the rules of thumb; JSON holds what was asked for.
    compared: dict[str, dict[str, Any]] = {} if json or name == _MODEL else {_MODEL: {}}
    compared[name] = settings
    results = {each: _repeat(each, given, splits, runs_on, quiet=json) for each, given in compared.items()}
    how = splits[0].protocol
    if json:
        head = {"dataset": label, "model": name, "settings": settings, "protocol": how}
        print_json({**head, **results[name].to_record(), "peak_rss_mb": peak_rss_mb()})
        return
    print_results(f"{label}, protocol {how}", results, _ranked_ways(splits[0]))


def print_results(title: str, results: dict[str, Repetitions], ways: Mapping[str, str] | None = None) -> None:
    """One column for each model, one row for each measure: mean ± standard deviation over the seeds.

    ways    words for ranks ``forward``, ``backward`` and ``mean``; without them some of the mean are shown, as inter's
    """
    records = {name: result.to_record() for name, result in results.items()}
    rows = [
        [label, *(_mean_and_spread(reduce(getitem, place, record)) for record in records.values())]
        for label, place in _measures(ways)
    ]
    print_table(["", *records], rows, title=title)
    first = next(iter(records.values()))
    seeds = ", ".join(map(str, first["seeds"]))
    counts = "; ".join(
        f"{kind}: {_range(first[kind]['positives'])} hidden links against {_range(first[kind]['negatives'])} non-links"
        for kind in ("intra", "inter")
    )
    print_note(f"{len(first['seeds'])} seed(s): {seeds}. {counts}.")


def _measures(ways: Mapping[str, str] | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Label of every row, and where its figure is in a record."""
    for label in (*_INTRA, *_INTER, *(() if ways else (f"inter {name}" for name in ("mrr", "hits@1", "hits@10")))):
        yield label, tuple(label.split())
    for way, words in (ways or {}).items():
        for name in _RANKS:
            yield f"{name}, {words}", ("ranks", way, name)
    yield "overall auc", ("overall", "auc")


def _ranked_ways(split: Split) -> dict[str, str] | None:
    """With anchors, how ranks forward and backward are called in the table: by the layers, if there are two."""
    from mpxgat.splits import is_anchors

    if not is_anchors(split.protocol):
        return None
    if split.train.n_layers != 2:
        return {"forward": "forward", "backward": "backward", "mean": "mean"}
    first, second = split.train.layers
    return {"forward": f"{first} to {second}", "backward": f"{second} to {first}", "mean": "mean"}


def _splits(
    data: str,
    reading: tuple[str | None, Path | None],
    hiding: tuple[str | None, str | None, Path | None],
    first_seed: int | None,
    seeds: int,
    features: Sequence[FeatureColumn],
    *,
    directed: bool,
) -> tuple[str, list[Split]]:
    """Label and splits: the one in the file, or one for each seed.

    ``reading`` is format and pairs known to be different, ``hiding`` protocol, known and hidden.
    """
    from mpxgat.splits import load_split

    (format, different), (protocol, known, hidden) = reading, hiding
    given = {"--protocol": protocol, "--known": known, "--hidden": hidden, "--first-seed": first_seed}
    if data.endswith(SPLIT_SUFFIX):
        if seeds > 1:
            raise SettingError(f"{data} is one split, expected --seeds 1 with it")
        for option, value in (given | {"--format": format, "--different": different}).items():
            if value is not None:
                raise SettingError(f"{option} {quoted(value)} with a saved split, which is made already; expected none")
        if directed:
            raise SettingError("--directed with a saved split, which is made already; expected none")
        split = load_split(data)
        label = data_label(Path(data).name, directed=False, features=features)
        return label, [replace(split, train=add_features(split.train, features))]
    choice = chosen_split(protocol, known, hidden)  # what is wrong is reported before anything is read
    graph = add_different(load_data(data, format, directed=directed)[0], different)
    graph = add_features(graph, features)
    label, first = data_label(data, directed=directed, features=features), first_seed or 0
    return label, choice.splits(graph, range(first, first + seeds))


def _repeat(name: str, settings: dict[str, Any], splits: list[Split], engine: Engine, *, quiet: bool) -> Repetitions:
    from mpxgat.evaluation import pairs_to_score, repeat, repeat_on
    from mpxgat.training.parallel import Session

    total = sum(pairs_to_score(split) for split in splits)
    with progress(f"evaluating {name}", total, quiet=quiet) as advance:
        new_model = partial(_new_model, name, settings)
        if engine.always:
            return repeat_on(engine, splits, new_model, advance)
        return repeat(splits, new_model, advance, Session(engine=engine))


def _new_model(name: str, settings: dict[str, Any], seed: int) -> Model:
    from mpxgat.models import make_model

    return make_model(name, seed=seed, **settings)


def _mean_and_spread(summary: dict[str, Any]) -> str:
    if math.isnan(summary["mean"]):  # no pairs to tell apart
        return "-"
    spread = f" ± {summary['std']:.3f}" if len(summary["values"]) > 1 else ""
    return f"{summary['mean']:.3f}{spread}"


def _range(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
