"""What a run trains, and the JSON it is kept in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mpxgat.errors import InputError, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.files import read_bytes
from mpxgat.models.base import Model
from mpxgat.process import versions

KIND = "mpxgat-run-1"


@dataclass(frozen=True)
class RunConfig:
    """What is trained.

    data            the data set's name or path, as given
    fingerprint     the graph's
    settings        all of the model's, defaults included
    graph           the graph's sizes, for people to read
    """

    data: str
    fingerprint: str
    model: str
    settings: Mapping[str, Any]
    seed: int
    versions: Mapping[str, str]
    graph: Mapping[str, Any]

    @classmethod
    def of(cls, model: Model, graph: MultiplexGraph, data: str) -> RunConfig:
        """The configuration of training ``model`` on ``graph``, here and now."""
        return cls(
            data=data,
            fingerprint=graph.fingerprint(),
            model=model.name,
            settings=model.settings,
            seed=model.seed,
            versions=versions(),
            graph={
                "layers": list(graph.layers),
                "nodes": graph.n_nodes,
                "intra_links": graph.n_intra,
                "inter_links": graph.n_inter,
            },
        )

    @property
    def identity(self) -> dict[str, str]:
        """What a checkpoint must agree with."""
        return {
            "model": self.model,
            "settings": json.dumps(dict(self.settings), sort_keys=True),
            "seed": str(self.seed),
            "graph": self.fingerprint,
        }

    def difference(self, now: RunConfig) -> str | None:
        """The first thing in which ``now`` would be another training, in words; None if it is the same one."""
        if self.model != now.model:
            return f"the model {quoted(self.model)}, now {quoted(now.model)}"
        for name in {**self.settings, **now.settings}:
            before, after = (_shown(config.settings, name) for config in (self, now))
            if before != after:
                return f"the setting {name} = {before}, now {after}"
        if self.seed != now.seed:
            return f"the seed {self.seed}, now {now.seed}"
        if self.fingerprint != now.fingerprint:
            return f"other data ({_sizes(self)}; now {_sizes(now)})"
        return None

    def other_versions(self, now: RunConfig) -> list[str]:
        """What has been installed anew since, in words."""
        return [
            f"{name} {before}, now {now.versions[name]}"
            for name, before in self.versions.items()
            if name in now.versions and now.versions[name] != before
        ]

    def to_bytes(self) -> bytes:
        """As a JSON file."""
        return json_bytes({"kind": KIND, **asdict(self)})

    @classmethod
    def read(cls, path: Path) -> RunConfig:
        """From a JSON file; InputError if it is damaged or something else."""
        value = read_json(path, KIND)
        kinds = {"data": str, "fingerprint": str, "model": str, "settings": dict, "seed": int}
        for name, kind in {**kinds, "versions": dict, "graph": dict}.items():
            if not isinstance(value.get(name), kind):
                raise InputError(f"damaged: {name} is {quoted(value.get(name))}, expected {kind.__name__}", path)
        return cls(**{name: value[name] for name in cls.__dataclass_fields__})


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """A JSON file; the same value gives the same bytes."""
    return (json.dumps(value, indent=1) + "\n").encode()


def read_json(path: Path, kind: str) -> dict[str, Any]:
    """The JSON object of the given kind in a file; InputError if it is damaged or something else."""
    content = read_bytes(path)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"damaged, or no JSON ({printable(problem)})", path) from None
    found = value.get("kind") if isinstance(value, dict) else None
    if found != kind:
        raise InputError(f"the file is of kind {printable(found)}, expected {kind}", path)
    return dict(value)


def _shown(settings: Mapping[str, Any], name: str) -> str:
    return json.dumps(settings[name]) if name in settings else "not there"


def _sizes(config: RunConfig) -> str:
    return f"{quoted(config.data)}: {config.graph.get('nodes')} nodes, checksum {printable(config.fingerprint[:12])}"
