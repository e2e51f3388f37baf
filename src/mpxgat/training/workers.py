"""Processes that train parts side by side and never outlive the process that started them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Thread


@contextmanager
def workers(count: int) -> Iterator[Executor]:
    """``count`` processes; an exception or interruption in the block ends them at once, as does a killed parent."""
    context = get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    # Nothing is ever sent. The system closes `held` when this process dies, however that happens.
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_end_with, initargs=(watched,))
    try:
        yield pool
    except BaseException:
        held.close()
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()
    held.close()
    watched.close()


def _end_with(watched: Connection) -> None:
    """In a worker: leave when the other end is closed, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait() -> None:
        try:
            watched.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    Thread(target=wait, daemon=True).start()
