"""What is known about nodes in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.errors import GraphError, quoted
from mpxgat.frozen import frozen


@dataclass(frozen=True, eq=False)
class Features:
    """Numeric node features: ``values[i, p]`` is feature ``names[p]`` of node ``i``; float32, finite."""

    names: tuple[str, ...]
    values: NDArray[np.float32]  # (n, p)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(np.asarray(self.values, dtype=np.float32)))
        if self.values.ndim != 2 or self.values.shape[1] != len(self.names):
            raise GraphError(
                f"features have shape {self.values.shape}, expected one column for each of {len(self.names)} names"
            )
        if not np.isfinite(self.values).all():
            row, column = np.argwhere(~np.isfinite(self.values))[0]
            raise GraphError(
                f"feature {quoted(self.names[column])} of node {row} is {self.values[row, column]}, expected a number"
            )

    def take(self, nodes: NDArray[np.integer[Any]]) -> Features:
        """The rows of ``nodes``, in that order."""
        return Features(self.names, self.values[nodes])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Features) and self.names == other.names and np.array_equal(self.values, other.values)
