"""`mpxgat demo`: the whole walk on a built-in network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from mpxgat.cli.evaluate import print_results
from mpxgat.cli.options import JsonOption, check_page
from mpxgat.cli.output import print_fields, print_json, progress
from mpxgat.cli.report import make_sections, write

if TYPE_CHECKING:
    from mpxgat.evaluation import Repetitions
    from mpxgat.graph import MultiplexGraph
    from mpxgat.models import Model
    from mpxgat.splits import Split

# MPXGAT at a size that a small network needs and that trains in seconds.
_MODELS: dict[str, dict[str, Any]] = {
    "rules": {},
    "degree": {},
    "auto": {},
    "mpxgat": {"hidden": 32, "out": 32, "heads": 2, "lr": 5e-3, "epochs": 200, "patience": 5},
}


def demo(
    people: Annotated[int, typer.Option(min=50, help="People in the planted network.")] = 1000,
    layers: Annotated[int, typer.Option(min=2, help="Its layers.")] = 3,
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions.")] = 2,
    report: Annotated[
        Path | None, typer.Option("--report", "-o", help="Also write a report to this page (.html).")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Plant a social network with several layers, hide links, and predict them: rules, MPXGAT, and the best model."""
    from mpxgat.report.charts import require_charts
    from mpxgat.splits import marked_nodes
    from mpxgat.synthetic import social

    if report is not None:  # what would stop it is reported before anything is computed
        check_page(report)
        require_charts()
    with progress("planting a network", quiet=json):
        graph = social(people=people, layers=layers, seed=0)
        splits = [marked_nodes(graph, seed) for seed in range(seeds)]
    results: dict[str, Repetitions] = {}
    fitted: dict[str, Model] = {}
    with progress("predicting hidden links", len(_MODELS), quiet=json) as advance:
        for name in _MODELS:
            results[name], fitted[name] = _repeat(name, splits)
            advance(1)
    title = f"{people:,} people in {layers} layers, planted"
    if json:
        print_json({"dataset": title, "models": {name: result.to_record() for name, result in results.items()}})
    else:
        print_fields({"network": title, "graph": repr(graph)})
        print_results("hidden links predicted (protocol marked)", results)
    if report is not None:
        _write_report(report, title, graph, splits[-1], fitted, results, quiet=json)


def _repeat(name: str, splits: list[Split]) -> tuple[Repetitions, Model]:
    """A model's results on all splits, and the one that was fitted on the last of them."""
    from mpxgat.evaluation import repeat
    from mpxgat.models import make_model

    made: list[Model] = []

    def new_model(seed: int) -> Model:
        made[:] = [make_model(name, seed=seed, **_MODELS[name])]
        return made[0]

    results = repeat(splits, new_model)
    return results, made[0]


def _write_report(
    report: Path,
    title: str,
    graph: MultiplexGraph,
    split: Split,
    fitted: dict[str, Model],
    results: dict[str, Repetitions],
    *,
    quiet: bool,
) -> None:
    from mpxgat.models.auto import Auto
    from mpxgat.models.mpxgat import MPXGAT
    from mpxgat.report.page import Page, sizes
    from mpxgat.report.reports import demo_stages

    auto, mpxgat = cast(Auto, fitted["auto"]), cast(MPXGAT, fitted["mpxgat"])
    sections = make_sections(demo_stages(graph, split, auto, mpxgat, list(results.items())), quiet=quiet)
    words = (
        "A network planted by the demonstration, whose truth is known. Links were hidden, and models that had not seen "
        "them predicted who is connected and who is who."
    )
    write(report, Page(f"Demonstration: {title}", sections, words, sizes(graph)), None)
