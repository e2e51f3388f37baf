"""`mpxgat record`: evaluate cell by cell and put the results on record; what is on record is not computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mpxgat.cli.options import (
    DEFAULT_PROTOCOL,
    BatchOption,
    ConfigOption,
    DataArgument,
    DirectedOption,
    EpochsOption,
    JobsOption,
    KnownShareOption,
    ProtocolOption,
    PublishedOption,
    SetOption,
    chosen_model,
    data_label,
    load_data,
    model_option,
    parse_settings,
)
from mpxgat.cli.output import print_note

_MODEL = "rules"


def record(
    data: DataArgument,
    results: Annotated[Path, typer.Option("--results", "-o", help="The JSONL file the results are added to.")],
    model: Annotated[str | None, model_option(_MODEL)] = None,
    protocol: ProtocolOption = None,
    known: KnownShareOption = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of repetitions.")] = 1,
    first_seed: Annotated[int, typer.Option(min=0, help="Seed of the first one; tune on 100 and above.")] = 0,
    set: SetOption = None,
    config: ConfigOption = None,
    published: PublishedOption = None,
    epochs: EpochsOption = None,
    batch: BatchOption = None,
    jobs: JobsOption = 1,
    directed: DirectedOption = False,
) -> None:
    """Evaluate a model on several seeds and add each result to a file; killed and started again, it continues."""
    from mpxgat.experiments.records import ResultsFile, ResultsFolder, cell_key
    from mpxgat.experiments.runner import run_cell
    from mpxgat.splits import protocol_text
    from mpxgat.training.parallel import Processes

    how = protocol_text(protocol or DEFAULT_PROTOCOL, known)
    settings = parse_settings(set or [], config, published, epochs, batch)
    name = chosen_model(model, config, _MODEL)
    folder = ResultsFolder(results.parent, added_to=results.name)
    label = data_label(data, directed=directed)
    keys = [cell_key(label, how, name, settings, seed) for seed in range(first_seed, first_seed + seeds)]
    done = {known.key.text() for known in ResultsFile(results).read()}
    missing = [key for key in keys if key.text() not in done]
    print_note(f"{len(keys) - len(missing)} of {len(keys)} results are on record already")
    graph = load_data(data, directed=directed)[0] if missing else None
    for key in missing:
        assert graph is not None
        cell = run_cell(key, graph, folder.session(key, Processes(jobs)))
        folder.add(cell)
        print_note(f"{label}, {name}, seed {key.seed}: {_shown(cell.measures)}")


def _shown(measures: Any) -> str:
    return ", ".join(f"{kind} AUC {measures[kind]['auc']:.4f}" for kind in ("intra", "inter") if measures[kind]["auc"])
