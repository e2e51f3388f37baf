"""How many links a step takes, chosen before training: all of them while that fits the memory."""

from __future__ import annotations

from collections.abc import Sequence

from mpxgat.models.part import Part
from mpxgat.models.settings import AUTO, FULL
from mpxgat.training.memory import check_fits, fits
from mpxgat.training.session import Session

Sizes = list[int | None]  # for each part; None is full batch
NOTE = "batch"  # what a checkpoint's identity calls them
_LEAST = 256
_SMALLER = "smaller hidden, out or heads need less"


def batch_sizes(parts: Sequence[Part], session: Session) -> Sizes:
    """As set; where the setting is "auto", full batch if it fits the memory, else the largest power of two that does.

    The larger a batch, the less is computed twice and the nearer a step is to one of full batch. A training that is
    resumed goes on with the sizes it was begun with, whatever memory there is by now. TrainingError if a part does not
    fit.
    """
    setting = parts[0].settings.batch
    if setting == AUTO:
        begun = session.noted(NOTE, [part.file_name for part in parts])
        known = None if begun is None else _parse(begun, len(parts))
        return known or _auto(parts)
    size = None if isinstance(setting, str) else setting
    workers = min(session.engine.jobs, parts[0].settings.shares)
    for part, held in zip(parts, _held(parts), strict=True):
        advice = "batch = auto needs less, as do smaller hidden, out or heads" if size is None else _SMALLER
        check_fits(held + part.memory(size, workers), f"training {part.label}", advice)
    return [size] * len(parts)


def sizes_text(sizes: Sizes) -> str:
    """For the identity of checkpoints: "full", or the size of every part."""
    words = [FULL if size is None else str(size) for size in sizes]
    return FULL if set(words) <= {FULL} else ", ".join(words)


def _parse(text: str, count: int) -> Sizes | None:
    """What `sizes_text` was made of; None if it does not fit: it then belongs to another training."""
    words = [FULL] * count if text == FULL else text.split(", ")
    if len(words) != count or not all(word == FULL or word.isdecimal() for word in words):
        return None
    return [None if word == FULL else int(word) for word in words]


def _auto(parts: Sequence[Part]) -> Sizes:
    sizes: Sizes = []
    for part, held in zip(parts, _held(parts), strict=True):
        if fits(held + part.memory(None)):
            sizes.append(None)
            continue
        size = max(_LEAST, 1 << max(len(part.links) - 1, 1).bit_length() - 1)
        while size > _LEAST and not fits(held + part.memory(size)):
            size //= 2
        check_fits(held + part.memory(size), f"training {part.label}", _SMALLER)
        sizes.append(size)
    return sizes


def _held(parts: Sequence[Part]) -> list[int]:
    """Bytes that are taken when a part's training begins: what was learned before."""
    before, held = 0, []
    for part in parts:
        held.append(before)
        before += part.learned_bytes()
    return held
