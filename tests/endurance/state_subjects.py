"""Readers of what mpxgat itself keeps: runs, checkpoints, models, splits, searches, results; and of TOML files."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from mpxgat.models import load_model, make_model
from mpxgat.synthetic import social
from tests.endurance import grammars, structured
from tests.endurance.mutations import Random
from tests.endurance.subjects import Subject

_ATTENTION = {"hidden": 2, "out": 2, "heads": 1, "epochs": 2, "check_every": 1}
SMALL: dict[str, dict[str, Any]] = {
    "rules": {},
    "mpxgat": _ATTENTION,
    "anchored": {"dimensions": 4, "hidden": 2, "terms": 2, "splits": 2, "steps": 1, "epochs": 1},
    "evidence": {"splits": 2, "trees": 3},
    "gat": _ATTENTION,
    "graphsage": {"dimensions": 2, "epochs": 1},
    "gatne": {"dimensions": 2, "edge_dimensions": 2, "attention_dimensions": 2, "epochs": 1},
}
_EXPERIMENT = b"""
title = "T"
seeds = 2
measures = ["intra", "inter.mrr"]
[sweep]
argument = "overlap"
label = "Overlap"
[[graph]]
values = [0.1, 0.5]
[graph.social]
people = 60
[[cell]]
model = "rules"
[[cell]]
model = "mpxgat"
label = "M"
against = "rules"
[cell.settings]
lr = 0.01
[cell.figures]
intra = [0.7, 0.01]
[quick]
seeds = 1
values = [0.1]
[quick.settings.mpxgat]
epochs = 1
"""
_TABLE = b'title = "T"\n[[dataset]]\nname = "arxiv"\nnodes = 3\ninter_links = 4\naverage_degree = 1.3\n'


def state_subjects() -> list[Subject]:
    """All of them; models are the slowest to make, so they come in few copies."""
    return [
        *_models(),
        _split(),
        _checkpoint(),
        *_run_files(),
        *_search_files(),
        _study(),
        *_result_files(),
        *_toml_files(),
    ]


def _network(rng: Random) -> Any:
    return social(people=12, layers=2, seed=int(rng.integers(1000)), mean_degree=3)


def _models() -> list[Subject]:
    def subject(name: str) -> Subject:
        def make(folder: Path, rng: Random) -> None:
            make_model(name, seed=100, **SMALL[name]).fit(_network(rng)).save(folder / "model.safetensors")

        def read(folder: Path) -> None:
            model = load_model(folder / "model.safetensors")
            n = model.graph.n_nodes
            if n > 1:
                assert model.score([[0, n - 1], [n - 2, n - 1]]).shape == (2,)

        return Subject(f"model {name}", make, read, structured.arrays_mutated, share=0.5)

    return [subject(name) for name in SMALL]


def _split() -> Subject:
    from mpxgat.splits import load_split, make_split, save_split

    def make(folder: Path, rng: Random) -> None:
        save_split(make_split(_network(rng), str(rng.choice(["marked", "units", "anchors"])), 100), folder / "a.split")

    def read(folder: Path) -> None:
        split = load_split(folder / "a.split")
        assert split.train.n_nodes >= 0

    return Subject("split", make, read, structured.arrays_mutated)


def _checkpoint() -> Subject:
    import torch

    from mpxgat.runs import RunFolder
    from mpxgat.training.checkpoint import Checkpoint, TrainingState

    def place(folder: Path) -> Checkpoint:
        return Checkpoint(folder / "part.safetensors", {"graph": "x", "part": "part"})

    def make(folder: Path, rng: Random) -> None:
        w = torch.from_numpy(rng.normal(size=(2, 3)))
        rows = [{"epoch": 1.0, "loss": 0.1, "validation": 0.7}]
        place(folder).save(
            TrainingState(2, {"w": w}, {"w.first": w}, {"w": w}, best_epoch=1, best_value=0.7, history=rows)
        )

    def read(folder: Path) -> None:
        for part in RunFolder(folder.parent).progress() if folder.name == "checkpoints" else ():
            assert part.epochs >= 0
        state = place(folder).load()
        assert state is None or isinstance(state.history, list)

    return Subject("checkpoint", make, read, structured.arrays_mutated)


def _run_files() -> list[Subject]:
    from mpxgat.runs import RunConfig, RunFolder

    def make(folder: Path, rng: Random) -> None:
        graph = _network(rng)
        model = make_model("mpxgat", seed=100, **_ATTENTION)
        run = RunFolder(folder)
        run.begin(RunConfig.of(model, graph, "net.parquet"))
        run.finish(model.fit(graph))
        (folder / "model.safetensors").write_bytes(b"")  # it has a subject of its own

    def read(folder: Path) -> None:
        run = RunFolder(folder)
        config = run.config()
        config.difference(RunConfig(config.data, "", config.model, {"lr": 1.0}, 1, {}, {}, {}))
        config.other_conditions(config)
        assert config.identity
        json.dumps(run.to_record())

    return [Subject("run", make, read, structured.json_mutated, grammars.json_text, "config.json")]


def _search_files() -> list[Subject]:
    from mpxgat.tuning.search import SearchFolder
    from mpxgat.tuning.trials import Trial, TrialsFile, ranked

    begun = {"model": "mpxgat", "measure": "overall", "seed": 100, "method": "grid"}

    def make_search(folder: Path, rng: Random) -> None:
        SearchFolder(folder).begin(begun)

    def make_trials(folder: Path, rng: Random) -> None:
        file = TrialsFile(folder / "trials.jsonl")
        for number, state in enumerate(("finished", "finished", "failed", "pruned"), 1):
            auc = {"intra": 0.5, "inter": None, "overall": 0.5 + number / 10} if state == "finished" else {}
            file.append(Trial(number, {"lr": 0.1 / number, "hidden": 8}, state, "overall", auc, 3, 0.1, "no"))

    def read_trials(folder: Path) -> None:
        for trial in ranked(TrialsFile(folder / "trials.jsonl").read()):
            _shown_trial(trial)

    return [
        Subject(
            "search", make_search, lambda folder: SearchFolder(folder).begin(begun), structured.json_mutated,
            grammars.json_text, "search.json", share=0.5,
        ),
        Subject("trials", make_trials, read_trials, structured.jsonl_mutated, grammars.json_lines, "trials.jsonl"),
    ]  # fmt: skip


def _study() -> Subject:
    """Optuna's storage, an SQLite file; slow to open, so it gets few inputs."""
    from mpxgat.splits import validation_split
    from mpxgat.tuning.optuna_search import OptunaStorage
    from mpxgat.tuning.search import Objective, SearchFolder
    from mpxgat.tuning.trials import Trial, ranked

    space = {"lr": {"low": 1e-4, "high": 1e-1, "log": True}}
    network = social(people=30, layers=2, seed=100)
    objective = Objective("mpxgat", "overall", 100, validation_split(network, "marked", 100))

    def storage(folder: Path) -> OptunaStorage:
        return OptunaStorage(space, 3, True, SearchFolder(folder), objective)

    def make(folder: Path, rng: Random) -> None:
        made = storage(folder)
        for number in (1, 2):
            running = made.next()
            assert running is not None
            auc = {"intra": 0.5, "inter": 0.5, "overall": 0.5}
            made.record(running, Trial(number, dict(running.settings), "finished", "overall", auc, 1, 0.1))
            running.reservation.close()

    def read(folder: Path) -> None:
        found = storage(folder)
        for trial in ranked(found.trials()):
            _shown_trial(trial)
        running = found.next()
        if running is not None:
            running.reservation.close()

    return Subject("study", make, read, share=0.02)


def _shown_trial(trial: Any) -> None:
    """What the command prints of a trial."""
    assert f"{trial.seconds:.1f} {trial.number} {trial.epochs}"
    assert all(trial.auc[kind] is None or trial.auc[kind] >= 0 for kind in ("intra", "inter", "overall"))
    assert dict(trial.settings) is not None


def _result_files() -> list[Subject]:
    from mpxgat.experiments.records import ResultsFile, cell_key
    from mpxgat.experiments.runner import run_cell
    from mpxgat.experiments.tables import find_section, results_table

    def make(folder: Path, rng: Random) -> None:
        for name in ("rules", "mpxgat"):
            key = cell_key("social(people=12)", "marked", name, SMALL[name], 100)
            ResultsFile(folder / "results.jsonl").append(run_cell(key, _network(rng)))

    def read(folder: Path) -> None:
        records = ResultsFile(folder / "results.jsonl").read()
        assert isinstance(results_table(records, "marked"), str)

    def make_page(folder: Path, rng: Random) -> None:
        (folder / "page.md").write_text("# T\n<!-- results a: begin -->\n\nx\n<!-- results a: end -->\n")

    return [
        Subject("results", make, read, structured.jsonl_mutated, grammars.json_lines, "results.jsonl"),
        Subject("section", make_page, lambda folder: _nothing(find_section(folder / "page.md", "a")), share=0.2),
    ]


def _toml_files() -> list[Subject]:
    from mpxgat.cli.options import parse_settings
    from mpxgat.experiments.config import check_experiment, read_config
    from mpxgat.experiments.tables import read_dataset_table
    from mpxgat.tuning.grid import grid_method, read_grid
    from mpxgat.tuning.optuna_search import check_space, read_space

    def experiment(path: Path) -> None:
        read = read_config(path)
        check_experiment(read)
        check_experiment(read.quick_version())

    def space(path: Path) -> None:
        values = read_space(path)
        values.pop("seed", None)  # which the command refuses
        check_space("mpxgat", values)

    def grid(path: Path) -> None:
        values = read_grid(path)
        values.pop("seed", None)  # which the command refuses
        grid_method("mpxgat", values)

    def settings(path: Path) -> None:
        make_model("mpxgat", **parse_settings([], path, None, None))

    kinds: dict[str, tuple[bytes, Callable[[Path], Any]]] = {
        "settings": (b"[settings]\nlr = 0.01\nhidden = 8\npreset = 'paper'\n", settings),
        "grid": (b"lr = [0.01, 0.1]\nhidden = [4, 8]\nheads = 1\n", grid),
        "space": (b"lr = {low = 1e-5, high = 1e-2, log = true}\nhidden = {choices = [4, 8]}\nheads = 2\n", space),
        "experiment": (_EXPERIMENT, experiment),
        "table of data sets": (_TABLE, read_dataset_table),
    }

    def subject(name: str, content: bytes, read: Callable[[Path], Any]) -> Subject:
        return Subject(
            name,
            lambda folder, rng: _nothing((folder / "a.toml").write_bytes(content)),
            lambda folder: _nothing(read(folder / "a.toml")),
            grammar=grammars.toml_text,
            main="a.toml",
            share=0.5,
        )

    return [subject(name, content, read) for name, (content, read) in kinds.items()]


def _nothing(value: object) -> None:
    return None


@cache
def all_subjects() -> dict[str, Subject]:
    """Every subject by name."""
    from tests.endurance.subjects import format_subjects, list_subjects

    found = [*format_subjects(), *list_subjects(), *state_subjects()]
    assert len({subject.name for subject in found}) == len(found)
    return {subject.name: subject for subject in found}
