"""Tests that hold for any number of threads, where the maths library promises it."""

from __future__ import annotations

import pytest

from mpxgat.system import same_bytes_on_any_threads

on_any_number_of_threads = pytest.mark.skipif(
    not same_bytes_on_any_threads(),
    reason="this processor's maths library promises the same bytes for one number of threads only",
)
