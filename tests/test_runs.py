"""Folders of runs: interrupted, resumed, refused."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import pytest

from mpxgat.errors import InputError, OutputError, TrainingError
from mpxgat.models import make_model
from mpxgat.runs import RunConfig, RunFolder
from mpxgat.system import ANY_THREADS, THESE_THREADS
from mpxgat.training.parallel import Processes
from tests.examples import graph_of, random_graph

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = {"hidden": 4, "out": 4, "heads": 2, "epochs": 6, "check_every": 2}
GRAPH = random_graph(5, people=30, layers=2)


def small_model(seed=0, **settings):
    return make_model("mpxgat", seed=seed, **{**SMALL, **settings})


def train(folder, model=None, graph=GRAPH, stop_after=None, jobs=1):
    """Train in the folder; with ``stop_after``, interrupted after so many epochs of all parts together."""
    model = model or small_model()
    epochs = 0

    def report(part, epoch):
        nonlocal epochs
        epochs += 1
        if stop_after is not None and epochs > stop_after:
            raise KeyboardInterrupt

    with folder.locked():
        folder.begin(RunConfig.of(model, graph, "data"))
        model.fit(graph, folder.session(report, engine=Processes(jobs), save_every=0))
        folder.finish(model)


def interrupted(folder, stop_after=10, **options):
    with pytest.raises(KeyboardInterrupt):
        train(folder, stop_after=stop_after, **options)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = RunFolder(tmp_path_factory.mktemp("runs") / "deep" / "run")
    train(folder)
    return folder


def content(folder):
    return {path.name: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}


def test_a_finished_run_holds_what_it_should(undisturbed):
    assert set(content(undisturbed)) == {"config.json", "history.json", "model.safetensors", ".lock"}
    assert not undisturbed.checkpoints.exists()
    config = undisturbed.config()
    assert (config.data, config.model, config.seed) == ("data", "mpxgat", 0)
    assert config.fingerprint == GRAPH.fingerprint()
    assert config.settings == small_model().settings
    assert set(config.versions) == {"mpxgat", "python", "torch", "numpy"}
    assert undisturbed.model().graph == GRAPH
    history = json.loads((undisturbed.path / "history.json").read_text())
    assert [row["epoch"] for row in history["history"]["between layers"]] == [2, 4, 6]
    assert undisturbed.summary() == undisturbed.model().training_summary()
    assert not RunFolder(undisturbed.path.parent).holds_run()


@pytest.mark.parametrize("stop_after", [0, 3, 7, 17])
def test_interrupted_and_resumed_it_ends_in_the_same_bytes(undisturbed, tmp_path, stop_after):
    folder = RunFolder(tmp_path / "run")
    interrupted(folder, stop_after)
    assert not folder.finished
    with pytest.raises(InputError, match="not finished; continue with: mpxgat train data -o"):
        folder.model()
    train(folder)
    assert content(folder) == content(undisturbed)


def test_progress_tells_how_far_the_parts_are(tmp_path):
    folder = RunFolder(tmp_path / "run")
    interrupted(folder, stop_after=10)
    first, second = folder.progress()
    assert (first.part, first.epochs, first.finished) == ("horizontal-0001", 6, True)
    assert (second.part, second.epochs, second.finished) == ("horizontal-0002", 4, False)


def test_killed_between_the_model_and_the_end_it_is_finished(undisturbed, tmp_path):
    folder = RunFolder(tmp_path / "run")
    train(folder)
    folder.checkpoints.mkdir()
    (folder.checkpoints / "vertical.safetensors").write_bytes(b"old")
    with folder.locked():
        folder.begin(RunConfig.of(small_model(), GRAPH, "data"))
    assert folder.finished
    assert not folder.checkpoints.exists()


def test_files_of_killed_writers_are_removed(undisturbed, tmp_path):
    folder = RunFolder(tmp_path / "run")
    interrupted(folder)
    leftovers = [folder.path / ".model.safetensors.x1", folder.checkpoints / ".vertical.safetensors.x2"]
    for path in leftovers:
        path.write_bytes(b"half")
    train(folder)
    assert content(folder) == content(undisturbed)


def test_a_folder_with_nothing_but_what_a_killed_process_left_can_be_used(undisturbed, tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    for name in (".lock", ".config.json.abc"):
        (folder.path / name).write_bytes(b"")
    train(folder)
    assert content(folder) == content(undisturbed)


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ({"model": small_model(hidden=8)}, "was begun with the setting hidden = 4, now 8"),
        ({"model": small_model(vertical_lr=0.1)}, "the setting vertical_lr = null, now 0.1"),
        ({"model": small_model(seed=1)}, "the seed 0, now 1"),
        ({"model": make_model("rules")}, "the model 'mpxgat', now 'rules'"),
        ({"graph": random_graph(6, people=30, layers=2)}, "other data"),
    ],
    ids=["setting", "setting not set before", "seed", "model", "data"],
)
def test_another_training_is_refused_and_the_difference_named(tmp_path, now, said):
    folder = RunFolder(tmp_path / "run")
    interrupted(folder, stop_after=2)
    before = content(folder)
    with pytest.raises(TrainingError, match=said):
        train(folder, **now)
    assert content(folder) == before


def test_a_second_process_in_the_folder_is_refused_at_once(tmp_path):
    folder = RunFolder(tmp_path / "run")
    refusal = pytest.raises(TrainingError, match="another process trains in this folder")
    with folder.locked(), refusal, folder.locked():
        raise AssertionError("it was let in")
    with folder.locked():
        pass


def test_a_folder_with_foreign_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("work")
    with pytest.raises(TrainingError, match=r"holds 'thesis\.tex' and no run"):
        train(RunFolder(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "run").write_text("work")
    for path in (tmp_path / "run", tmp_path / "run" / "below", tmp_path / ("run" * 200)):
        assert not RunFolder(path).holds_run()
        with pytest.raises(OutputError, match="run"), RunFolder(path).locked():
            raise AssertionError("it was let in")


_TRY_TO_HOLD = """
import sys
from pathlib import Path
from mpxgat.errors import TrainingError
from mpxgat.runs import RunFolder

try:
    with RunFolder(Path(sys.argv[1])).locked():
        pass
except TrainingError:
    sys.exit(3)
"""


def test_two_processes_cannot_both_hold_a_folder(tmp_path):
    folder = RunFolder(tmp_path / "run")
    other = [sys.executable, "-c", _TRY_TO_HOLD, str(folder.path)]
    with folder.locked():
        assert subprocess.run(other, check=False).returncode == 3
    assert subprocess.run(other, check=False).returncode == 0


def test_who_opened_the_lock_file_before_locks_the_same_as_who_comes_later(tmp_path):
    """Were it removed by who leaves, a process that opened it before and one that comes later would both be in."""
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        opened = open(folder.path / ".lock")  # noqa: SIM115 - as a process does that is about to lock it
    with opened, folder.locked():
        assert os.path.samestat(os.fstat(opened.fileno()), (folder.path / ".lock").stat())


def test_a_folder_in_which_no_run_begins_holds_nothing_but_the_lock(tmp_path):
    for path in (tmp_path / "there", tmp_path / "new"):
        (tmp_path / "there").mkdir(exist_ok=True)
        with suppress(KeyboardInterrupt), RunFolder(path).locked():
            raise KeyboardInterrupt
        assert os.listdir(path) == [".lock"]
        RunFolder(path).check_free()


def test_nothing_trained_nothing_left(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        folder.begin(RunConfig.of(small_model(), GRAPH, "data"))
        folder.session(lambda part, report: None)
        folder.abandon()
    assert os.listdir(folder.path) == [".lock"]
    interrupted(folder, stop_after=2)
    folder.abandon()
    assert folder.holds_run()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "damaged, or no JSON"),
        ("[]", "of kind None, expected mpxgat-run-2"),
        ('{"kind": "mpxgat-run-2", "data": 3}', "data is '3', expected str"),
    ],
)
def test_a_damaged_configuration_is_named(tmp_path, text, said):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(InputError, match=said):
        RunFolder(tmp_path).config()


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(InputError, match="no run here"):
        RunFolder(tmp_path).model()


# ---- checkpoints ---------------------------------------------------------------------------------------


def half(content):
    return content[: len(content) // 2]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (half, "damaged"),
        (lambda content: b"", "the file is empty"),
        (lambda content: b"PK\3\4 something else", "not a file of kind mpxgat-checkpoint-1"),
    ],
    ids=["truncated", "empty", "foreign"],
)
def test_a_damaged_checkpoint_is_refused(tmp_path, damage, said):
    folder = RunFolder(tmp_path / "run")
    interrupted(folder)
    path = folder.checkpoints / "horizontal-0002.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(
        TrainingError, match=rf"cannot resume: .*horizontal-0002\.safetensors: .*{said}.*delete the file"
    ):
        train(folder)


def test_a_model_in_place_of_a_checkpoint_is_refused(undisturbed, tmp_path):
    folder = RunFolder(tmp_path / "run")
    interrupted(folder)
    (folder.checkpoints / "horizontal-0002.safetensors").write_bytes(undisturbed.model_path.read_bytes())
    with pytest.raises(TrainingError, match="of kind mpxgat-model-2, expected mpxgat-checkpoint-1"):
        train(folder)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"graph": random_graph(6, people=30, layers=2)}, "another graph"),
        ({"model": small_model(lr=0.1)}, "another settings"),
        ({"model": small_model(seed=1)}, "another seed"),
    ],
    ids=["graph", "settings", "seed"],
)
def test_a_checkpoint_of_another_training_is_refused(tmp_path, other, said):
    here, there = RunFolder(tmp_path / "here"), RunFolder(tmp_path / "there")
    interrupted(here)
    interrupted(there, **other)
    name = "horizontal-0001.safetensors"
    (here.checkpoints / name).write_bytes((there.checkpoints / name).read_bytes())
    with pytest.raises(TrainingError, match=f"was made with {said} "):
        train(here)


def test_a_checkpoint_of_another_part_is_refused(tmp_path):
    folder = RunFolder(tmp_path / "run")
    interrupted(folder)
    first, second = (folder.checkpoints / f"horizontal-000{n}.safetensors" for n in (1, 2))
    second.write_bytes(first.read_bytes())
    with pytest.raises(TrainingError, match="was made with another part"):
        train(folder)


def test_a_deleted_checkpoint_is_trained_again(undisturbed, tmp_path):
    folder = RunFolder(tmp_path / "run")
    interrupted(folder)
    (folder.checkpoints / "horizontal-0001.safetensors").unlink()
    train(folder)
    assert content(folder) == content(undisturbed)


# ---- other models, other versions ----------------------------------------------------------------------


def test_a_model_that_is_not_trained_has_runs_too(tmp_path):
    folder = RunFolder(tmp_path / "run")
    train(folder, model=make_model("rules"), graph=graph_of("x.a x.b", "y.a y.b", "x.a y.a"))
    assert folder.model().name == "rules"
    assert folder.summary() == {}


def test_other_conditions_are_told():
    begun = RunConfig.of(small_model(), GRAPH, "data")
    now = replace(begun, versions={**begun.versions, "torch": "9.9"})
    assert begun.other_conditions(begun) == []
    assert begun.other_conditions(now) == [f"torch {begun.versions['torch']}, now 9.9"]
    assert begun.difference(now) is None


@pytest.mark.parametrize(("promise", "told"), [(ANY_THREADS, []), (THESE_THREADS, ["threads 2, now 1"])])
def test_another_number_of_threads_is_told_where_it_matters(promise, told):
    known = {"threads": 2, "MKL_CBWR": "AVX2,STRICT", "processor": "intel", "promise": promise}
    begun = replace(RunConfig.of(small_model(), GRAPH, "data"), reproducibility=known)
    assert begun.other_conditions(replace(begun, reproducibility={**known, "threads": 1})) == told
