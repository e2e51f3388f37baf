"""What this process runs on: versions, what a seed promises here, memory used, memory left, memory needed."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from threading import local
from typing import Any, TypeVar

from mpxgat import __version__
from mpxgat.errors import TrainingError

try:
    import resource
except ImportError:  # Windows has no such module
    resource = None  # type: ignore[assignment]

_OUT_OF_MEMORY = (
    "allocate memory",
    "not enough memory",
    "out of memory",
    "bad_alloc",
    "failed to map segment",  # of a library that is being loaded
    "can't start new thread",
    "launch worker thread",
)
_MAKERS = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}  # as processors call themselves
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_FLOAT, _INDEX = 4, 8  # bytes
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # from malloc.h of glibc
_LARGEST = 2**31 - 1
_this_thread = local()
Thing = TypeVar("Thing")
Result = TypeVar("Result")
ANY_THREADS = "same bytes on any number of threads"
THESE_THREADS = "same bytes on this machine with this number of threads"


# ---- what the same seed promises -----------------------------------------------------------------------------------


def set_reproducible_maths() -> None:
    """Set what torch and its maths library read from the environment when they are loaded; call it before that.

    ``MKL_CBWR``: MKL chooses its kernels by processor and number of threads, and they add in different orders. In this
    mode one seed gives the same bytes on any number of threads (it costs some 3 % of a training). Only Intel processors
    honour it, so it is set on these alone; and not once torch is loaded, when it would be a promise without effect.
    ``OMP_WAIT_POLICY``: threads that spin while they wait for each other make
    training a hundred times slower as soon as another program wants a core. What the user has set stays.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if processor() == "intel" and "torch" not in sys.modules:
        os.environ.setdefault("MKL_CBWR", "AVX2,STRICT")


def maths_settings() -> dict[str, str]:
    """What of that is set in this process, for those of other machines that work for it."""
    return {name: os.environ[name] for name in ("MKL_CBWR", "OMP_WAIT_POLICY") if name in os.environ}


def same_bytes_on_any_threads() -> bool:
    """Whether one seed gives the same bytes on any number of threads; else on the same number of this machine.

    It does where MKL is part of torch, the processor is Intel's and ``MKL_CBWR`` asked for STRICT before torch was
    loaded (set later it has no effect, which cannot be seen from here).
    """
    if processor() != "intel" or not os.environ.get("MKL_CBWR", "").upper().endswith(",STRICT"):
        return False
    import torch

    return bool(torch.backends.mkl.is_available())  # type: ignore[no-untyped-call]


def reproducibility() -> dict[str, Any]:
    """What the same seed promises in this process, and on what grounds; plain values for a record."""
    import torch

    return {
        "threads": torch.get_num_threads(),
        "MKL_CBWR": os.environ.get("MKL_CBWR"),
        "processor": processor(),
        "promise": ANY_THREADS if same_bytes_on_any_threads() else THESE_THREADS,
    }


def threads() -> int:
    """As many as torch uses, but no more than there are processors: others would only wait for these.

    One within the threads of `side_by_side`. Where torch is not loaded, which takes a second, as many as it would use.
    """
    if getattr(_this_thread, "is_one_of_several", False):
        return 1
    processors = os.cpu_count() or 1
    if (torch := sys.modules.get("torch")) is not None:
        return min(int(torch.get_num_threads()), processors)
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(int(asked), processors) if asked.isdecimal() and int(asked) > 0 else processors


def side_by_side(work: Callable[[Thing], Result], things: Sequence[Thing], most: int | None = None) -> list[Result]:
    """What a function gives for each thing, in their order, by threads of this process, at most so many.

    For work that holds no lock for long: products of SciPy, array operations of NumPy, `mpxgat.kernels`.
    """
    count = min(threads(), len(things), most or len(things))
    if count <= 1:
        return [work(thing) for thing in things]
    with ThreadPoolExecutor(count, initializer=_become_one_of_several) as pool:
        return list(pool.map(work, things))


def _become_one_of_several() -> None:
    _this_thread.is_one_of_several = True


def processor() -> str:
    """Who made this machine's processor: "intel", "amd", "arm" or "other"."""
    try:
        told = Path("/proc/cpuinfo").read_text()
    except OSError:  # not Linux
        told = platform.processor()
    if platform.machine().lower().startswith(("arm", "aarch64")):
        return "arm"
    return next((name for word, name in _MAKERS.items() if word in told), "other")


def versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    return {
        "mpxgat": __version__,
        "python": platform.python_version(),
        "torch": version("torch"),
        "numpy": version("numpy"),
    }


# ---- memory --------------------------------------------------------------------------------------------------------


def peak_rss_mb() -> float | None:
    """Largest resident memory so far, in megabytes, of this process or of the largest that it started and that ended.

    None where the system does not tell.
    """
    if resource is None:
        return None
    peak = max(resource.getrusage(whose).ru_maxrss for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def is_out_of_memory(problem: BaseException) -> bool:
    """Whether an exception says that memory ran out: numpy and Arrow by its class, torch and LightGBM in its words."""
    if isinstance(problem, MemoryError):
        return True
    text = str(problem).lower()
    return any(words in text for words in _OUT_OF_MEMORY)


def address_space_left() -> int | None:
    """What a limit on this process's address space (``ulimit -v``) leaves of it; None without such a limit."""
    if resource is None:
        return None
    try:
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):  # a system that has no such limits
        return None
    return None if limit == resource.RLIM_INFINITY else max(0, limit - used)


def check_room(needed: int) -> None:
    """MemoryError if a limit leaves less than so many bytes; for what ends the process when it gets none."""
    left = address_space_left()
    if left is not None and left < needed:
        raise MemoryError(f"{needed >> 20} MB are needed, and a limit on memory leaves {left >> 20} MB")


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
