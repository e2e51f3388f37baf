import numpy as np
import pytest
import torch

from mpxgat.errors import ResumeError, TrainingError
from mpxgat.io.arrays import write_arrays
from mpxgat.training.checkpoint import Checkpoint, TrainingState

IDENTITY = {"graph": "abc", "settings": "{}", "part": "vertical"}
STATE = TrainingState(
    epoch=7,
    parameters={"w": torch.tensor([1.0, 2.0])},
    moments={"w.first": torch.tensor([0.5, 0.5]), "w.step": torch.tensor(7.0)},
    best={"w": torch.tensor([1.5, 2.5])},
    best_epoch=5,
    best_value=0.75,
    stale=2,
    history=[{"epoch": 5.0, "loss": 0.1, "validation": 0.75}],
)


@pytest.fixture
def checkpoint(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c.safetensors", IDENTITY)
    checkpoint.save(STATE)
    return checkpoint


def test_a_state_comes_back(checkpoint):
    state = checkpoint.load()
    for name in ("epoch", "best_epoch", "best_value", "stale", "finished", "history"):
        assert getattr(state, name) == getattr(STATE, name)
    for name in ("parameters", "moments", "best"):
        ours, theirs = getattr(STATE, name), getattr(state, name)
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[key], theirs[key]) for key in ours)


def test_no_file_is_no_state(tmp_path):
    assert Checkpoint(tmp_path / "none.safetensors", IDENTITY).load() is None


@pytest.mark.parametrize("name", sorted(IDENTITY))
def test_a_checkpoint_of_something_else_is_refused_and_says_of_what(checkpoint, name):
    other = Checkpoint(checkpoint.path, {**IDENTITY, name: "other"})
    with pytest.raises(TrainingError, match=f"was made with another {name}"):
        other.load()


def test_a_damaged_checkpoint_is_refused(checkpoint):
    whole = checkpoint.path.read_bytes()
    rng = np.random.default_rng(0)
    for size in (1, 7, 8, 100, len(whole) // 2, len(whole) - 1):
        checkpoint.path.write_bytes(whole[:size])
        with pytest.raises(TrainingError, match="cannot resume"):
            checkpoint.load()
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[rng.integers(len(damaged))] = rng.integers(256)
        checkpoint.path.write_bytes(damaged)
        assert_loads_or_refuses(checkpoint)


def assert_loads_or_refuses(checkpoint):
    try:
        assert checkpoint.load() is not None
    except TrainingError as problem:
        if "\n" in str(problem):
            raise AssertionError("the message has more than one line") from problem


def test_a_file_of_another_kind_is_refused(checkpoint):
    write_arrays(checkpoint.path, "something", {}, {})
    with pytest.raises(TrainingError, match="of kind something, expected mpxgat-checkpoint-1"):
        checkpoint.load()


def test_nothing_is_left_beside_the_checkpoint(checkpoint):
    assert [p.name for p in checkpoint.path.parent.iterdir()] == ["c.safetensors"]


def test_a_checkpoint_with_other_numbers_than_were_saved_is_refused(checkpoint):
    whole = checkpoint.path.read_bytes()
    place = whole.index(np.array([1.0, 2.0], dtype=np.float32).tobytes())
    checkpoint.path.write_bytes(whole[: place + 2] + b"\x01" + whole[place + 3 :])
    with pytest.raises(TrainingError, match=r"cannot resume: .*damaged.*delete the file to train this part again"):
        checkpoint.load()


def test_a_checkpoint_after_infinitely_many_epochs_is_refused(checkpoint):
    header = {"identity": IDENTITY, "epoch": float("inf"), "best_epoch": 1, "best_value": None, "stale": 0}
    write_arrays(checkpoint.path, "mpxgat-checkpoint-1", {**header, "finished": False, "history": []}, {})
    with pytest.raises(TrainingError, match="is damaged"):
        checkpoint.load()


def test_what_a_checkpoint_says_it_is_of_can_be_asked(checkpoint):
    assert checkpoint.identity_found() == IDENTITY
    checkpoint.path.write_bytes(checkpoint.path.read_bytes()[:100])
    with pytest.raises(TrainingError, match="cannot resume"):
        checkpoint.identity_found()
    checkpoint.path.unlink()
    assert checkpoint.identity_found() is None


@pytest.mark.parametrize("change", ["lacking", "further"])
def test_an_identity_with_a_name_less_or_more_is_another(change, tmp_path):
    kept = {"graph": "a", "batch": "full"}
    now = {"graph": "a"} if change == "further" else {**kept, "part": "vertical"}
    path = tmp_path / "state.safetensors"
    Checkpoint(path, kept).save(TrainingState(epoch=1, parameters={}))
    with pytest.raises(ResumeError, match=r"was made with another (part|batch)"):
        Checkpoint(path, now).load()
