"""What the same seed promises, for every model that trains: the same bytes.

At default widths and with layers of more than 1,000 nodes: shorter sums do not show what a maths library does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
import torch

from mpxgat import synthetic
from mpxgat.graph import MultiplexGraph
from mpxgat.models import make_model
from tests.threads import on_any_number_of_threads

SHORT = {
    "mpxgat": {"epochs": 2},
    "mpxgat in batches": {"epochs": 1, "batch": 1024},
    "gat": {"epochs": 2, "horizontal": "random"},
    "graphsage": {"epochs": 1},
    "multiplexsage": {"epochs": 1},
    "gatne": {"epochs": 1},
    "anchored": {"epochs": 1, "steps": 3},
    "evidence": {"embeddings": "none", "trees": 10, "splits": 2, "non_links": 10},
}
every_model = pytest.mark.parametrize("case", SHORT)


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@cache
def network() -> MultiplexGraph:
    return synthetic.social(people=1500, layers=2, seed=100)


def saved(case: str, threads: int, tmp_path) -> bytes:
    torch.set_num_threads(threads)
    model = make_model(case.split()[0], seed=100, **SHORT[case]).fit(network())
    return model.save(tmp_path / "model.safetensors").read_bytes()


@every_model
def test_same_seed_and_same_number_of_threads_same_bytes(case, tmp_path):
    assert saved(case, 2, tmp_path) == saved(case, 2, tmp_path)


@on_any_number_of_threads
@every_model
def test_same_seed_same_bytes_on_any_number_of_threads(case, tmp_path):
    assert saved(case, 1, tmp_path) == saved(case, 2, tmp_path) == saved(case, 4, tmp_path)
