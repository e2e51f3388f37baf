"""A single bit that is not as it was written: models, splits and checkpoints are refused, wherever the bit is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mpxgat.errors import InputError, ResumeError
from mpxgat.models import load_model, make_model
from mpxgat.splits import load_split, make_split, save_split
from mpxgat.synthetic import social
from mpxgat.training.checkpoint import Checkpoint, TrainingState

FLIPS = 200
_IDENTITY = {"graph": "x", "part": "part"}


def _model(path: Path) -> None:
    make_model("rules", seed=0).fit(social(people=30, layers=2, seed=0)).save(path)


def _split(path: Path) -> None:
    save_split(make_split(social(people=30, layers=2, seed=0), "marked", 0), path)


def _checkpoint(path: Path) -> None:
    weights = {"w": torch.arange(6.0).reshape(2, 3)}
    rows = [{"epoch": 1.0, "loss": 0.1, "validation": 0.7}]
    Checkpoint(path, _IDENTITY).save(TrainingState(2, weights, weights, weights, 1, 0.7, history=rows))


KINDS: dict[str, tuple[Callable[[Path], None], Callable[[Path], object]]] = {
    "model": (_model, load_model),
    "split": (_split, load_split),
    "checkpoint": (_checkpoint, lambda path: Checkpoint(path, _IDENTITY).load()),
}


def _header_bits(content: bytes) -> np.ndarray:
    """Of our header and of safetensors' own, where the smallest share of the bytes is."""
    own = 8 + int.from_bytes(content[:8], "little")
    ours = content.index(b'"kind": ')
    return np.concatenate([np.arange(8 * own), np.arange(8 * ours, 8 * (content.index(b"}", ours) + 1))])


@pytest.mark.parametrize("kind", KINDS)
def test_no_flipped_bit_is_accepted(kind: str, tmp_path: Path) -> None:
    make, read = KINDS[kind]
    path = tmp_path / "file"
    make(path)
    whole = path.read_bytes()
    read(path)
    rng = np.random.default_rng(0)
    bits = np.concatenate([rng.choice(_header_bits(whole), FLIPS // 2), rng.integers(8 * len(whole), size=FLIPS // 2)])
    refused = 0
    for bit in bits.tolist():
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises((InputError, ResumeError)) as caught:
            read(path)
        assert "\n" not in str(caught.value)
        refused += 1
    assert refused == FLIPS
