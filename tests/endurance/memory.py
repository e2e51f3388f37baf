"""Memory of this process, as Linux tells it."""

from __future__ import annotations

import os
import resource
from pathlib import Path

_SELF = Path("/proc/self")


def address_space() -> int:
    """Bytes of address space that this process has taken."""
    return int((_SELF / "statm").read_text().split()[0]) * resource.getpagesize()


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int((_SELF / "statm").read_text().split()[1]) * resource.getpagesize()


def reset_peak() -> int:
    """Let the peak count anew; bytes of memory that this process has now."""
    (_SELF / "clear_refs").write_text("5")
    return resident()


def peak() -> int:
    """Most bytes of memory that this process has had since `reset_peak`."""
    for line in (_SELF / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resident()


def open_files() -> int:
    """Files, sockets and pipes that this process holds open."""
    return len(os.listdir(_SELF / "fd"))
