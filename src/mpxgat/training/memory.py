"""Whether a training fits the memory, estimated before it starts."""

from __future__ import annotations

from pathlib import Path

from mpxgat.address_space import address_space_left
from mpxgat.errors import TrainingError

_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_FLOAT = 4
_INDEX = 8


def training_bytes(n_nodes: int, n_links: int, parameters: int, width: int, heads: int, blocks: int) -> int:
    """About how much memory a full-batch training takes at its peak.

    Parameters count five times (value, gradient, Adam's two moments, best copy); every block keeps a few
    tensors of (nodes, width) for its backward pass and a few numbers for each directed edge and head.
    """
    edges = 2 * n_links + n_nodes
    activations = blocks * 5 * n_nodes * width * _FLOAT
    per_edge = edges * heads * (4 * _INDEX + blocks * 3 * _FLOAT)
    return 5 * parameters * _FLOAT + activations + per_edge


def batch_bytes(
    parameters: int, tables: int, batch_nodes: int, batch_links: int, width: int, heads: int, blocks: int, held: int
) -> int:
    """About how much memory a training in batches takes at its peak.

    Parameters count four times (no gradient of all of them is ever kept), and as often again while a checkpoint is
    written. A batch takes what a network of its size takes in full batch, and a few times the rows of identity tables
    that its nodes have, ``tables`` wide together.

    held    bytes of what there is for all nodes and links: lists of neighbours, embeddings at validation
    """
    step = training_bytes(batch_nodes, batch_links, 0, width, heads, blocks)
    return 8 * parameters * _FLOAT + held + step + 6 * batch_nodes * tables * _FLOAT


def listed_bytes(n_nodes: int, n_links: int) -> int:
    """Of neighbours listed for all nodes, twice: to draw from, and to hear all at validation."""
    return 6 * _INDEX * (2 * n_links + n_nodes)


def rows_bytes(n_nodes: int, width: int) -> int:
    """Of a vector for each node."""
    return n_nodes * width * _FLOAT


def available_bytes() -> int | None:
    """Memory that this process may still use, as far as the system tells."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        return None
    for limit in _CGROUP_LIMITS:
        try:
            found.append(int(Path(limit).read_text()))
        except (OSError, ValueError):  # no such limit, or "max"
            continue
    if (left := address_space_left()) is not None:
        found.append(left)
    return min(found, default=None)


def fits(needed: int) -> bool:
    """Whether there are so many bytes, as far as the system tells."""
    available = available_bytes()
    return available is None or needed <= available


def check_fits(needed: int, what: str, advice: str = "smaller hidden, out or heads need less") -> None:
    """TrainingError if ``needed`` bytes are more than there are."""
    available = available_bytes()
    if available is not None and needed > available:
        raise TrainingError(
            f"{what} would need about {needed / 2**30:.1f} GiB of memory and {available / 2**30:.1f} GiB are "
            f"available; {advice}"
        )
