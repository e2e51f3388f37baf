"""The real command in child processes, under conditions: killed, limited, without rights, by another clock.

Starting Python with torch takes far longer than a small training. So one process imports everything once and forks a
child for each run of the command; conditions hold for that child alone. Run as a program, this file is that process: a
request is a line of JSON on its standard input, the answer a line on its standard output.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Conditions:
    """What a command has to live with.

    seconds         until ``signal`` is sent, counted from where the command begins; None if it may end by itself
    largest_file    bytes; writing more fails, as on a full disk
    room            bytes of address space that it may take beyond what it has when it begins
    bound           whether permissions bind it even if it runs as root
    clock           seconds since 1970 that every look at the clock tells, less by one each time
    stdout          a file in place of what is captured
    offline         whether fetching fails at once
    """

    seconds: float | None = None
    signal: int = signal.SIGKILL
    largest_file: int | None = None
    room: int | None = None
    bound: bool = False
    clock: float | None = None
    stdout: str | None = None
    offline: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (negative: by a signal), seconds, and what it printed."""

    code: int
    seconds: float
    out: str
    err: str


class Launch(Protocol):
    """Runs the command with these arguments to its end."""

    def __call__(self, *arguments: object, **conditions: Any) -> Ended: ...


@contextmanager
def launcher() -> Iterator[Launch]:
    """Gives the function that runs a command; keyword arguments are `Conditions`."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    command = [sys.executable, "-m", "tests.endurance.launcher"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def ask(*arguments: object, **conditions: Any) -> Ended:
            stdin.write(json.dumps([[str(text) for text in arguments], asdict(Conditions(**conditions))]) + "\n")
            stdin.flush()
            answer = stdout.readline()
            assert answer, "the launcher is gone"
            return Ended(**json.loads(answer))

        yield ask
        stdin.close()


# ---- the process that forks ------------------------------------------------------------------------------


def _serve() -> None:
    import lightgbm  # noqa: F401
    import optuna  # noqa: F401
    import torch

    import mpxgat.cli.app
    import mpxgat.experiments.runner
    import mpxgat.models.anchored
    import mpxgat.models.evidence.model
    import mpxgat.models.mpxgat
    import mpxgat.runs
    import mpxgat.tuning.optuna_search  # noqa: F401

    torch.set_num_threads(1)
    for line in sys.stdin:
        arguments, conditions = json.loads(line)
        ended = _run(arguments, Conditions(**conditions))
        sys.stdout.write(json.dumps(asdict(ended)) + "\n")
        sys.stdout.flush()


def _run(arguments: list[str], conditions: Conditions) -> Ended:
    pipes = [os.pipe() for _ in range(3)]  # standard output, standard error, and one that is closed when it begins
    child = os.fork()
    if child == 0:
        for reading, _ in pipes:
            os.close(reading)
        _be_the_command(arguments, conditions, [writing for _, writing in pipes])
    for _, writing in pipes:
        os.close(writing)
    out, err, ready = (reading for reading, _ in pipes)
    os.read(ready, 1)
    begin = time.monotonic()
    said: dict[int, bytes] = {out: b"", err: b""}
    open_ones, signalled = [out, err], False
    while open_ones:
        left = None
        if conditions.seconds is not None and not signalled:
            left = max(0.0, conditions.seconds - (time.monotonic() - begin))
        for stream in select.select(open_ones, [], [], left)[0]:
            piece = os.read(stream, 1 << 16)
            said[stream] += piece
            if not piece:
                open_ones.remove(stream)
        if left is not None and time.monotonic() - begin >= (conditions.seconds or 0):
            os.kill(child, conditions.signal)
            signalled = True
    _, status = os.waitpid(child, 0)
    for stream in (out, err, ready):
        os.close(stream)
    texts = [said[stream].decode(errors="replace") for stream in (out, err)]
    return Ended(os.waitstatus_to_exitcode(status), time.monotonic() - begin, *texts)


def _be_the_command(arguments: list[str], conditions: Conditions, streams: list[int]) -> None:
    """Never returns."""
    import mpxgat.cli.app

    code: int | str | None = 70  # the launcher's own mistakes
    try:
        os.dup2(streams[0] if conditions.stdout is None else os.open(conditions.stdout, os.O_WRONLY), 1)
        os.dup2(streams[1], 2)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)
        sys.argv = ["mpxgat", *arguments]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _impose(conditions)
        for stream in streams:
            os.close(stream)
        code = _end_of(mpxgat.cli.app.main)
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    try:
        sys.stdout.flush()
    except OSError:  # as Python itself does at the end
        code = 120
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _end_of(command: Callable[[], None]) -> int | str | None:
    """The command's exit code. A Ctrl-C behind its end comes too late, and is not the command's to answer."""
    ended = False
    code: int | str | None = 0
    try:
        try:
            command()
        except SystemExit as end:
            code = end.code
        ended = True
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        if not ended:
            raise
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def _impose(conditions: Conditions) -> None:
    os.environ.update(conditions.environment)
    if conditions.offline:
        import mpxgat.datasets

        mpxgat.datasets._downloader = lambda: _refuse
    if conditions.clock is not None:
        ticks = iter(range(2**62))
        start = conditions.clock
        time.time = lambda: start - next(ticks)
    if conditions.bound and os.geteuid() == 0:
        _give_up_override()
    if conditions.largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (conditions.largest_file,) * 2)
    if conditions.room is not None:
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + conditions.room,) * 2)


def _give_up_override() -> None:
    """Root's right to pass over permissions (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH), given up by this process."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = struct.pack("=Ii", 0x20080522, 0)
    sets = ctypes.create_string_buffer(24)  # effective, permitted, inheritable; twice, for 64 rights
    assert libc.capget(header, sets) == 0, os.strerror(ctypes.get_errno())
    kept = [number & ~0b110 if place < 3 else number for place, number in enumerate(struct.unpack("=6I", sets.raw))]
    assert libc.capset(header, struct.pack("=6I", *kept)) == 0, os.strerror(ctypes.get_errno())


def _refuse(address: str, target: object, pooch: object) -> None:
    raise OSError(101, "Network is unreachable")


if __name__ == "__main__":
    _serve()
