"""Freed memory kept for the next epoch, where the C library allows it."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # from malloc.h of glibc
_LARGEST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Let this process keep large pieces of memory that it frees; whether the C library (glibc) could be told so.

    Every epoch allocates and frees the same large tensors. By default glibc gives each back to the system and asks for
    it anew, page by page, which takes a fifth of a training's time. For programs, not libraries: it holds for the whole
    process, which stays at its peak size.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # another C library, or another system
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, 2**30)) and bool(mallopt(_M_TRIM_THRESHOLD, _LARGEST))
