"""`mpxgat demo`: the whole walk on a built-in network."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.cli.data import JsonOption
from mpxgat.cli.evaluate import print_results
from mpxgat.cli.output import print_fields, print_json, progress

if TYPE_CHECKING:
    from mpxgat.models import Model

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
    json: JsonOption = False,
) -> None:
    """Plant a social network with several layers, hide links, and predict them: rules, MPXGAT, and the best model."""
    from mpxgat.repetitions import repeat
    from mpxgat.splits import marked_nodes
    from mpxgat.synthetic import social

    with progress("planting a network", quiet=json):
        graph = social(people=people, layers=layers, seed=0)
        splits = [marked_nodes(graph, seed) for seed in range(seeds)]
    results = {}
    with progress("predicting hidden links", len(_MODELS), quiet=json) as advance:
        for name in _MODELS:
            results[name] = repeat(splits, partial(_new_model, name))
            advance(1)
    title = f"{people:,} people in {layers} layers, planted"
    if json:
        print_json({"dataset": title, "models": {name: result.to_record() for name, result in results.items()}})
        return
    print_fields({"network": title, "graph": repr(graph)})
    print_results("hidden links predicted (protocol marked)", results)


def _new_model(name: str, seed: int) -> Model:
    from mpxgat.models import make_model

    return make_model(name, seed=seed, **_MODELS[name])
