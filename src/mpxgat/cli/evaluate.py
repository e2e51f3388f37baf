"""`mpxgat evaluate`: how well a model predicts hidden links, leak-free."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.cli.data import FormatOption, JsonOption, load_data
from mpxgat.cli.output import print_json, print_note, print_table, progress
from mpxgat.errors import SettingError

if TYPE_CHECKING:
    from mpxgat.repetitions import Repetitions
    from mpxgat.splits import Split

SPLIT_SUFFIX = ".split"

_MEASURES = (
    *(("intra", measure) for measure in ("auc", "ap")),
    *(("inter", measure) for measure in ("auc", "auc_hard", "ap", "mrr", "hits@1", "hits@10")),
    ("overall", "auc"),
)


def evaluate(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A data set's name, a file, or a split (.split) saved before.")
    ],
    model: Annotated[str, typer.Option(help="The model's name.")] = "rules",
    protocol: Annotated[str, typer.Option(help="marked (the paper's) or units (whole units held out).")] = "marked",
    seeds: Annotated[int, typer.Option(min=1, help="Number of repetitions.")] = 1,
    first_seed: Annotated[int, typer.Option(min=0, help="Seed of the first one; tune on 100 and above.")] = 0,
    format: FormatOption = None,
    json: JsonOption = False,
) -> None:
    """Hide links, fit on the rest, predict the hidden ones: AUC, average precision, ranks of true counterparts."""
    from mpxgat.models import make_model
    from mpxgat.process import peak_rss_mb

    make_model(model)  # a wrong name is told before anything is read
    with progress(f"reading {data}", quiet=json):
        label, protocol, splits = _splits(data, format, protocol, range(first_seed, first_seed + seeds))
    # A table never shows a model without the rules of thumb; JSON holds what was asked for.
    names = dict.fromkeys([model] if json else ["rules", model])
    results = {name: _repeat(name, splits, quiet=json) for name in names}
    if json:
        head = {"dataset": label, "model": model, "protocol": protocol}
        print_json({**head, **results[model].to_record(), "peak_rss_mb": peak_rss_mb()})
        return
    print_results(f"{label}, protocol {protocol}", results)


def print_results(title: str, results: dict[str, Repetitions]) -> None:
    """One column for each model, one row for each measure: mean ± standard deviation over the seeds."""
    records = {name: result.to_record() for name, result in results.items()}
    rows = [
        [f"{kind} {measure}", *(_mean_and_spread(record[kind][measure]) for record in records.values())]
        for kind, measure in _MEASURES
    ]
    print_table(["", *records], rows, title=title)
    first = next(iter(records.values()))
    seeds = ", ".join(map(str, first["seeds"]))
    counts = "; ".join(
        f"{kind}: {_range(first[kind]['positives'])} hidden links against {_range(first[kind]['negatives'])} non-links"
        for kind in ("intra", "inter")
    )
    print_note(f"{len(first['seeds'])} seed(s): {seeds}. {counts}.")


def _splits(data: str, format: str | None, protocol: str, seeds: range) -> tuple[str, str, list[Split]]:
    """Label, protocol and the splits: the one in the file, or one for each seed."""
    from mpxgat.splits import PROTOCOLS, load_split, make_split

    if data.endswith(SPLIT_SUFFIX):
        if len(seeds) > 1:
            raise SettingError(f"{data} is one split, expected --seeds 1 with it")
        split = load_split(data)
        return Path(data).name, split.protocol, [split]
    if protocol not in PROTOCOLS:
        raise SettingError(f"no protocol {protocol!r}; known are {', '.join(PROTOCOLS)}")
    graph, label = load_data(data, format)
    return label, protocol, [make_split(graph, protocol, seed) for seed in seeds]


def _repeat(name: str, splits: list[Split], *, quiet: bool) -> Repetitions:
    from mpxgat.evaluation import pairs_to_score
    from mpxgat.models import make_model
    from mpxgat.repetitions import repeat

    total = sum(pairs_to_score(split) for split in splits)
    with progress(f"evaluating {name}", total, quiet=quiet) as advance:
        return repeat(splits, lambda seed: make_model(name, seed=seed), advance)


def _mean_and_spread(summary: dict[str, Any]) -> str:
    spread = f" ± {summary['std']:.3f}" if len(summary["values"]) > 1 else ""
    return f"{summary['mean']:.3f}{spread}"


def _range(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
