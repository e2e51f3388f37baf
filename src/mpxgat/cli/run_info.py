"""What there is to say about a run: how it was set up, how far it is, how it went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mpxgat.cli.output import print_fields, print_note, print_table

if TYPE_CHECKING:
    from mpxgat.runs import RunConfig, RunFolder


def run_record(folder: RunFolder) -> dict[str, Any]:
    """Everything about a run as plain values."""
    config = folder.config()
    return {
        "run": str(folder.path),
        "finished": folder.finished,
        "data": config.data,
        "fingerprint": config.fingerprint,
        "graph": dict(config.graph),
        "model": config.model,
        "seed": config.seed,
        "settings": dict(config.settings),
        "versions": dict(config.versions),
        "training": folder.summary() if folder.finished else {"parts": _progress(folder)},
    }


def print_run(folder: RunFolder) -> None:
    """A run in words and tables."""
    config = folder.config()
    print_fields(
        {
            "run": folder.path,
            "state": _state(folder),
            "data": config.data,
            "checksum": config.fingerprint,
            "graph": _graph_in_words(config),
            "model": config.model,
            "seed": config.seed,
            "versions": ", ".join(f"{name} {version}" for name, version in config.versions.items()),
        }
    )
    if config.settings:
        print_table(
            ("setting", "value"),
            [(name, "-" if value is None else str(value)) for name, value in config.settings.items()],
        )
    print_training(folder)


def print_training(folder: RunFolder) -> None:
    """The parts of a training, β and choices where the model has them; one line where nothing is trained."""
    training = folder.summary() if folder.finished else {"parts": _progress(folder)}
    parts: Mapping[str, Mapping[str, Any]] = training.get("parts", {})
    if parts:
        # Full batch is what is usual: only another choice is told.
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
        print_fields({"hidden links among candidates": f"{training['candidate_recall']:.1%}"})
    if "chosen" in training:
        print_fields({"predicts links by": training["chosen"]})


def _links_in_a_step(part: Mapping[str, Any]) -> str:
    batch = part.get("batch")
    return f"{batch:,}" if isinstance(batch, int) else "all"


def _betas(number: int, block: list[float]) -> str:
    return f"block {number}: " + (", ".join(f"{value:.3f}" for value in block) or "none")


def _progress(folder: RunFolder) -> dict[str, dict[str, Any]]:
    return {
        part.part: {
            "epochs": part.epochs,
            "best_epoch": part.best_epoch,
            "best": part.best,
            "finished": part.finished,
        }
        for part in folder.progress()
    }


def _state(folder: RunFolder) -> str:
    if folder.finished:
        return "finished"
    parts = folder.progress()
    done = sum(part.finished for part in parts)
    return f"not finished: {done} part(s) trained, {len(parts) - done} begun; go on with mpxgat train … --resume"


def _graph_in_words(config: RunConfig) -> str:
    graph = config.graph
    return (
        f"{len(graph['layers'])} layers, {graph['nodes']:,} nodes, "
        f"{graph['intra_links']:,} intra links, {graph['inter_links']:,} inter links"
    )
