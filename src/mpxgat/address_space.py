"""What a limit on this process's address space leaves."""

from __future__ import annotations

from pathlib import Path


def address_space_left() -> int | None:
    """What a limit on this process's address space (``ulimit -v``) leaves of it; None without such a limit."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):  # a system that has no such limits
        return None
    return None if limit == resource.RLIM_INFINITY else max(0, limit - taken)


def check_room(needed: int) -> None:
    """MemoryError if a limit leaves less than so many bytes; for what ends the process when it gets none."""
    left = address_space_left()
    if left is not None and left < needed:
        raise MemoryError(f"{needed >> 20} MB are needed, and a limit on memory leaves {left >> 20} MB")
