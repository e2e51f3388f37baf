"""Where work runs side by side, from the command line: ``--jobs`` processes here, or ``--engine ray``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from mpxgat.errors import SettingError, quoted

if TYPE_CHECKING:
    from mpxgat.training.engines import Engine

EngineOption = Annotated[
    str | None,
    typer.Option("--engine", help="Where work runs side by side: processes (of this machine; the default) or ray."),
]
AddressOption = Annotated[
    str | None,
    typer.Option("--address", help="With --engine ray: the address of a cluster. Without it, a Ray of this machine."),
]
JobsOption = Annotated[
    int, typer.Option(min=1, help="Layers or self-made splits learned side by side, each in a process.")
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, help="With --engine ray: pieces of work at a time. Default: this machine's processors."
    ),
]
_PROCESSES, _RAY = "processes", "ray"


def chosen_engine(name: str | None, address: str | None, workers: int | None, jobs: int) -> Engine:
    """The engine asked for; SettingError if options do not go together or Ray is not installed."""
    from mpxgat.training.engines import Processes

    if name not in (None, _PROCESSES, _RAY):
        raise SettingError(f"no engine {quoted(name)}; known are {_PROCESSES}, {_RAY}")
    if name != _RAY:
        for option, value in (("--address", address), ("--workers", workers)):
            if value is not None:
                raise SettingError(f"{option} {quoted(value)} without --engine ray, expected both or neither")
        return Processes(jobs)
    if jobs != 1:
        raise SettingError(f"--jobs {jobs} beside --engine ray, expected --workers {jobs}")
    from mpxgat.training.ray_engine import RayEngine, ray_library

    ray_library()  # says how to install it, before anything is read
    return RayEngine(workers or os.cpu_count() or 1, address)
