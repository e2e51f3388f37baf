"""Workers as threads of this process, for tests: a group without the start of processes."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier


class ThreadGroup:
    """One of ``size`` workers; ``mail`` and ``barrier`` are those of all."""

    def __init__(self, rank, size, mail, barrier):
        self.rank, self.size = rank, size
        self._mail, self._barrier = mail, barrier

    def swap(self, rows):
        self._mail[self.rank] = list(rows)
        self._barrier.wait()
        found = [self._mail[worker][self.rank].clone() for worker in range(self.size)]
        self._barrier.wait()
        return found


def as_group(size, work):
    """What ``work(group)`` returned in each of ``size`` threads; where one fails, its error."""
    mail, barrier = [None] * size, Barrier(size, timeout=60)

    def join(rank):
        try:
            return work(ThreadGroup(rank, size, mail, barrier))
        except BaseException:
            barrier.abort()  # nobody waits for it
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(join, rank) for rank in range(size)]
        problems = [future.exception() for future in futures]
    for problem in sorted((p for p in problems if p), key=lambda p: type(p).__name__ == "BrokenBarrierError"):
        raise problem
    return [future.result() for future in futures]
