"""`mpxgat audit`: how the published inter-layer figures arise, beside what the same weights reach without a leak."""

from __future__ import annotations

import json as json_text
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.cli.options import (
    BatchOption,
    ConfigOption,
    DataArgument,
    EpochsOption,
    FormatOption,
    JsonOption,
    SetOption,
    load_data,
    parse_settings,
)
from mpxgat.cli.output import print_json, print_note, print_table, progress, training_progress

if TYPE_CHECKING:
    from mpxgat.splits import Split
    from mpxgat.training.parallel import Session

_WAYS = {
    "reference_real": "as the authors' code scores: test links carry messages",
    "reference_fake": "the same, random non-links in place of the test links",
    "leak_free": "leak-free: the same weights, test links unseen",
    "published": "published",
}


def audit(
    data: DataArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Keep figures, chart and checkpoints here; resumes."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and of the training.")] = 0,
    epochs: EpochsOption = None,
    batch: BatchOption = None,
    sets: SetOption = None,
    config: ConfigOption = None,
    jobs: Annotated[int, typer.Option(min=1, help="Layers trained in parallel, each in its own process.")] = 1,
    format: FormatOption = None,
    json: JsonOption = False,
) -> None:
    """Show how MPXGAT's published inter-layer AUC comes about: test links in the network, fake ones, fair scoring.

    Trains the preset `reference` at the settings published for the data set (or the defaults) on the training links.
    """
    from mpxgat.experiments.audit import audit as run_audit
    from mpxgat.splits import make_split

    settings = parse_settings(sets or [], config, None, epochs, batch)
    with progress(f"reading {data}", quiet=json):
        graph, label = load_data(data, format)
        split = make_split(graph, "marked", seed)
    with training_progress(quiet=json) as report:
        session = replace(_session(output, split, label, settings, jobs), report=report)
        found = run_audit(split, label, settings, session).to_record()
    if output is not None:
        _keep(output, found)
    if json:
        print_json(found)
        return
    _print(found)


def _session(output: Path | None, split: Split, label: str, settings: dict[str, Any], jobs: int) -> Session:
    """With a folder, checkpoints in it, which fit this graph and these settings only."""
    from mpxgat.errors import OutputError, printable
    from mpxgat.training.parallel import Processes, Session

    if output is None:
        return Session(engine=Processes(jobs))
    folder = output / "checkpoints"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise OutputError(f"{printable(folder, 300)}: cannot make it: {problem.strerror}") from None
    identity = {"graph": split.train.fingerprint(), "data": label, "settings": repr(sorted(settings.items()))}
    return Session(folder, identity, engine=Processes(jobs))


def _keep(output: Path, found: dict[str, Any]) -> None:
    from importlib.util import find_spec

    from mpxgat.experiments.audit import write_audit_chart
    from mpxgat.io.files import write_files

    write_files({output / "audit.json": (json_text.dumps(found, indent=2) + "\n").encode()})
    if find_spec("matplotlib") is None:
        print_note("no chart: it needs matplotlib; install it with: pip install 'mpxgat[plots]'")
        return
    write_audit_chart(found, _WAYS, output)


def _print(found: dict[str, Any]) -> None:
    rows = [
        [words, "–" if found[name] is None else found[name], found["std"].get(name, "")]
        for name, words in _WAYS.items()
    ]
    title = f"{found['dataset']}: inter-layer AUC of preset reference, {found['test_links']} test links"
    print_table(["scored", "AUC", "sd over dropout"], rows, title=title)
    print_note(
        f"Leak-free, on the pairs that transitivity and uniqueness do not decide: {found['leak_free_hard_pairs']:.3f}. "
        "Only the leak-free figures measure a model."
    )
