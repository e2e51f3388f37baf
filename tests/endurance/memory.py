"""Memory of this process, as Linux tells it."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

_SELF = Path("/proc/self")
_MALLINFO = (
    *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
    *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
)


@dataclass(frozen=True)
class Held:
    """What this process holds: resident bytes, bytes in use by those who asked for them, Python's blocks, open files.

    Allocators keep what is given back to them, in steps of megabytes, so that resident memory tells little of what is
    still in use.
    """

    resident: int
    in_use: int
    blocks: int
    files: int

    @classmethod
    def now(cls) -> Held:
        """After all that nobody refers to is gone."""
        gc.collect()
        return cls(resident(), _allocated() + pa.total_allocated_bytes(), sys.getallocatedblocks(), open_files())


class _Mallinfo(ctypes.Structure):
    """`struct mallinfo2` of the GNU C library; malloc(3) says what its fields are."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in _MALLINFO)


def _allocated() -> int:
    """Bytes that malloc has given out and not got back; 0 where the C library does not tell."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return 0
    mallinfo.restype = _Mallinfo
    found = mallinfo()
    return int(found.uordblks + found.hblkhd)


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
