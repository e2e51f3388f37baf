"""Ray as an engine: work runs on the machines of a cluster, or on a Ray of this machine that is started for it.

Ray runs a task anew when the worker or the whole machine it ran on has died. A training finds the checkpoint that the
dead one has left, if all machines see the folder of the run, and goes on from there to the same bytes.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from mpxgat.errors import SettingError, TrainingError, printable
from mpxgat.system import maths_settings
from mpxgat.training.parallel import GroupWork, raise_first

_SECONDS_TO_ANSWER = 10.0
_RETRIES = 3  # times that a piece of work may lose its worker
_THIS_MACHINE, _LOOPBACK = "127.0.0.1", "127."
P = ParamSpec("P")
T = TypeVar("T")


def ray_library() -> ModuleType:
    """Ray; SettingError says how to install it."""
    # Ray reports its use to its makers, and warns of a change to come on machines without a graphics card.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        return import_module("ray")
    except ImportError:
        raise SettingError("the engine ray needs Ray: pip install 'mpxgat[ray]'") from None


@dataclass(frozen=True)
class RayEngine:
    """Ray with ``jobs`` pieces of work at a time.

    address     of a running cluster ("auto" for the one of this machine); None starts a Ray of this process, reachable
                from this machine alone, that ends with the work
    """

    jobs: int
    address: str | None = None
    always: bool = True

    @contextmanager
    def workers(self, most: int | None = None) -> Iterator[Executor]:
        """Connected to Ray while the block runs; leaving it ends what this process has running there.

        A process that is connected to Ray already stays so, wherever that is.
        """
        ray = ray_library()
        jobs = min(self.jobs, most or self.jobs)
        if ray.is_initialized():
            yield _RayExecutor(ray, jobs)
            return
        try:
            self._connect(ray)
        except (OSError, OverflowError, ValueError, RuntimeError) as problem:
            raise TrainingError(
                f"cannot reach a Ray at {printable(self.address, 300)} ({printable(problem, 200)}); expected the "
                "address of a running one, such as that printed by: ray start --head"
            ) from None
        try:
            yield _RayExecutor(ray, jobs)
        finally:
            ray.shutdown()

    def together(self, count: int, work: GroupWork) -> None:
        """By Ray Train, which begins anew, from the last checkpoints, when a worker or its machine has died."""
        with self.workers(), TemporaryDirectory() as folder:
            train, torch_train = import_module("ray.train"), import_module("ray.train.torch")
            trainer = torch_train.TorchTrainer(
                _in_group,
                train_loop_config={"work": work},
                torch_config=torch_train.TorchConfig(backend="gloo"),
                scaling_config=train.ScalingConfig(num_workers=count, placement_strategy="SPREAD"),
                run_config=train.RunConfig(
                    storage_path=folder, failure_config=train.FailureConfig(max_failures=_RETRIES)
                ),
            )
            try:
                trainer.fit()
            except train.TrainingFailedError as problem:
                raise_first(list(getattr(problem, "worker_failures", {}).values()))
                raise TrainingError(f"Ray gave it up: {printable(problem, 300)}") from None

    def _connect(self, ray: ModuleType) -> None:
        quietly = {"log_to_driver": False, "logging_level": "ERROR"}
        if self.address is not None:
            host, _, port = self.address.partition(":")
            if port.isdecimal():  # Ray itself would try for minutes
                socket.create_connection((host, int(port)), timeout=_SECONDS_TO_ANSWER).close()
            # Of a cluster within this machine, Ray must be told that this process is in the machine too.
            here = {"_node_ip_address": host} if host.startswith(_LOOPBACK) else {}
            elsewhere = {"env_vars": maths_settings()}  # a Ray started here has this process's environment
            ray.init(address=self.address, runtime_env=elsewhere, **quietly, **here)
            return
        ray.init(num_cpus=self.jobs, include_dashboard=False, _node_ip_address=_THIS_MACHINE, **quietly)


class _RayExecutor(Executor):
    """At most ``jobs`` tasks are Ray's at a time: each is one processor's work, and others use the cluster too."""

    def __init__(self, ray: ModuleType, jobs: int):
        self._ray = ray
        self._task = ray.remote(max_retries=_RETRIES, num_cpus=1, scheduling_strategy="SPREAD")(_call)
        self._jobs = jobs
        self._in_work = 0
        self._waiting: list[Callable[[], None]] = []

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """As the executors of the standard library."""
        outer: Future[T] = Future()

        def start() -> None:
            self._task.remote(fn, *args, **kwargs).future().add_done_callback(lambda inner: self._done(inner, outer))

        if self._in_work < self._jobs:
            self._in_work += 1
            start()
        else:
            self._waiting.append(start)
        return outer

    def _done(self, inner: Future[T], outer: Future[T]) -> None:
        problem = inner.exception()
        if problem is None:
            outer.set_result(inner.result())
        else:
            outer.set_exception(self._plain(problem))
        if self._waiting:
            self._waiting.pop(0)()
        else:
            self._in_work -= 1

    def _plain(self, problem: BaseException) -> BaseException:
        """What went wrong in the task itself, or that its worker died again and again."""
        cause: Any = getattr(problem, "cause", None)
        if isinstance(problem, self._ray.exceptions.RayTaskError) and isinstance(cause, BaseException):
            return cause
        return BrokenExecutor(f"Ray gave it up: {printable(problem, 300)}")


def _in_group(config: dict[str, GroupWork]) -> None:
    """In a worker of Ray Train, which has connected it with the others."""
    from mpxgat.distributed.group import TorchGroup

    config["work"](TorchGroup())


def _call(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Ray takes only functions written in Python as tasks; this one takes any."""
    return fn(*args, **kwargs)
