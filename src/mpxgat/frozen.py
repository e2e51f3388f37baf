"""Arrays that cannot be changed through the object that holds them."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Scalar = TypeVar("_Scalar", bound=np.generic)


def frozen(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """A read-only view of ``array``; no copy, so whoever holds the array itself can still change it."""
    view = array.view()
    view.flags.writeable = False
    return view
