import numpy as np
import pytest
import torch

from mpxgat.errors import InputError, SettingError
from mpxgat.metrics import auc
from mpxgat.models import load_model, make_model
from mpxgat.models.mpxgat import GAT, MPXGAT, MPXGATRandom
from mpxgat.nn import REFERENCE, Neighbourhood, OneHot
from mpxgat.nn.mpxgat import HorizontalNet, Widths
from tests.examples import random_graph

SMALL = {"hidden": 8, "out": 6, "heads": 2, "epochs": 30, "check_every": 5, "lr": 0.01}


def test_the_blocks_are_those_of_pytorch_geometric_where_they_coincide():
    """One shared W and no bias on the transform (preset reference): a last block is a GATConv that averages heads."""
    geometric = pytest.importorskip("torch_geometric.nn")
    links = torch.tensor([[0, 1], [0, 2], [1, 2], [2, 3], [1, 4]])  # node 5 is isolated
    net = HorizontalNet(6, Widths(hidden=4, out=4, heads=3, blocks=1), generator=torch.Generator(), style=REFERENCE)
    parameters = dict(net.named_parameters())
    W, v_i, v_j = (next(p for name, p in parameters.items() if name.endswith(end)) for end in (".W", ".v_i", ".v_j"))
    conv = geometric.GATConv(6, 4, heads=3, concat=False, bias=False, negative_slope=0.2)
    with torch.no_grad():
        conv.lin.weight.copy_(W.T)
        conv.att_dst.copy_(v_i[None])
        conv.att_src.copy_(v_j[None])
    both = torch.cat([links, links.flip(1)]).T
    expected = torch.nn.functional.elu(conv(torch.eye(6), both))
    ours = net.embed(OneHot(6), Neighbourhood.from_links(6, links))
    assert torch.allclose(ours, expected, atol=1e-6)


def test_gat_differs_from_mpxgat_in_the_vertical_model_only():
    graph = random_graph(1)
    plain, full = GAT(seed=1, **SMALL).fit(graph), MPXGAT(seed=1, **SMALL).fit(graph)
    assert np.array_equal(plain.horizontal, full.horizontal)
    assert not np.array_equal(plain.vertical, full.vertical)
    assert plain.beta == []


def test_what_the_horizontal_embeddings_are_does_not_matter_to_gat():
    graph = random_graph(1)
    trained, random = (GAT(seed=1, horizontal=source, **SMALL).fit(graph) for source in ("trained", "random"))
    assert np.array_equal(trained.vertical, random.vertical)
    assert list(random.training_summary()["parts"]) == ["between layers"]
    assert random.attention(0)["horizontal"] == []
    assert random.attention(0)["vertical"][0][1].shape == (3, 2)


def test_a_wrong_source_is_named():
    with pytest.raises(SettingError, match="horizontal is 'dreamt', expected trained or random"):
        make_model("gat", horizontal="dreamt")


def test_random_horizontal_embeddings_are_directions_and_reach_the_vertical_model():
    graph = random_graph(1)
    one, other = (MPXGATRandom(seed=seed, **SMALL).fit(graph) for seed in (1, 2))
    assert np.linalg.norm(one.horizontal, axis=1) == pytest.approx(1, abs=1e-6)
    assert not np.array_equal(one.horizontal, other.horizontal)
    assert len(one.beta) == 3
    assert all(block[0] != 0.5 for block in one.beta)


@pytest.mark.parametrize("model", [GAT, MPXGATRandom])
def test_links_they_were_trained_on_are_told_from_others(model):
    graph = random_graph(3, people=150, layers=2, degree=6)
    fitted = model(seed=0, **SMALL | {"epochs": 150, "dropout": 0.2}).fit(graph)
    rng = np.random.default_rng(0)
    others = rng.integers(graph.n_nodes, size=(4000, 2))
    others = others[graph.node_layer[others[:, 0]] != graph.node_layer[others[:, 1]]]
    assert auc(fitted.score(graph.inter), fitted.score(others)) > 0.7


@pytest.mark.parametrize("change", ["rows", "dimensions", "numbers"])
def test_a_file_without_a_vector_for_each_node_is_refused(change, tmp_path):
    graph = random_graph(3, people=20)
    model = make_model("gat", seed=100, hidden=2, out=2, heads=1, epochs=1).fit(graph)
    vectors = model.horizontal
    wrong = {"rows": vectors[:-1], "dimensions": vectors.ravel(), "numbers": np.where(vectors == 0, 1, np.nan)}[change]
    model._horizontal = np.ascontiguousarray(wrong, dtype=np.float32)
    model._vertical = model._horizontal
    model.save(tmp_path / "model.safetensors")
    with pytest.raises(InputError, match="one for each node"):
        load_model(tmp_path / "model.safetensors")
