"""Data sets by name: found in a folder or fetched, checked, cached; every mishap is one line."""

import hashlib
import os
import re
from dataclasses import replace

import pytest

from mpxgat import datasets
from mpxgat.datasets import DataFile, Dataset
from mpxgat.errors import DatasetError

EDGES = b"1 a b 2\n1 b c 1\n2 a b 1\n2 x y 1\n2 a a 1\n"
LAYERS = b"layerID layerLabel\n1 first\n2 second\n"


def file(name, content, address="https://example.invalid/"):
    return DataFile(f"tiny_folder/{name}", address + name, hashlib.sha256(content).hexdigest())


TINY = Dataset(
    name="tiny",
    title="A tiny network",
    files=(file("tiny_multiplex.edges", EDGES), file("tiny_layers.txt", LAYERS)),
    licence="free",
    citation="Nobody (2000)",
    homepage="https://example.invalid/home",
    prepared=False,
    note="",
)


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A data set that is nowhere yet: no data folder, an empty cache, and no way to fetch."""
    monkeypatch.setattr(datasets, "_CATALOGUE", {"tiny": TINY})
    monkeypatch.setattr(datasets, "_cache_folder", lambda: tmp_path / "cache")
    monkeypatch.delenv("MPXGAT_DATA", raising=False)
    offline(monkeypatch)
    return TINY


def offline(monkeypatch):
    def refuse(address, target, pooch):
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(datasets, "_downloader", lambda: refuse)


def online(monkeypatch, edges=EDGES):
    """A provider that answers; returns the list of addresses asked for."""
    asked = []
    content = {"tiny_multiplex.edges": edges, "tiny_layers.txt": LAYERS}

    def download(address, target, pooch):
        asked.append(address)
        with open(target, "wb") as stream:
            stream.write(content[address.rpartition("/")[2]])

    monkeypatch.setattr(datasets, "_downloader", lambda: download)
    return asked


def in_folder(monkeypatch, folder, under="tiny_folder"):
    (folder / under).mkdir(parents=True, exist_ok=True)
    (folder / under / "tiny_multiplex.edges").write_bytes(EDGES)
    (folder / under / "tiny_layers.txt").write_bytes(LAYERS)
    monkeypatch.setenv("MPXGAT_DATA", str(folder))
    return folder / under


def message(name="tiny"):
    with pytest.raises(DatasetError) as problem:
        datasets.load(name)
    assert "\n" not in str(problem.value)
    return str(problem.value)


# ---- the real ones -------------------------------------------------------------------------------------------


@pytest.fixture
def data_folder():
    if not os.environ.get("MPXGAT_DATA"):
        pytest.skip("the environment variable MPXGAT_DATA names no folder with the real data sets")


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize(
    ("name", "layers", "nodes", "inter", "intra"),
    [
        ("arxiv", 13, 19_310, 20_738, 48_657),
        ("drosophila", 7, 11_867, 5_171, 39_934),
        ("fftwyt", 3, 11_827, 6_028, 74_770),
    ],
)
def test_prepared_as_in_the_paper(name, layers, nodes, inter, intra):
    graph = datasets.load(name)
    assert (graph.n_layers, graph.n_nodes, graph.n_inter, graph.n_intra) == (layers, nodes, inter, intra)
    assert graph.intra_weight is None
    assert graph.component_labels().max() == 0
    note = datasets.dataset(name).note
    assert f"{layers} layers, {nodes:,} nodes, {intra:,} intra and {inter:,} inter links" in note


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize(
    ("name", "layers", "units"),
    [
        ("aucs", ["coauthor", "facebook", "leisure", "lunch", "work"], 61),
        ("ckm", ["advice", "discussion", "friend"], 241),
        ("lazega", ["advice", "co-work", "friendship"], 71),
        ("celegans", ["ElectrJ", "MonoSyn", "PolySyn"], 279),
    ],
)
def test_small_ones_as_the_files_are(name, layers, units):
    graph = datasets.load(name)
    assert sorted(graph.layers) == layers
    assert graph.n_units == units
    assert graph.intra_weight is None


def test_catalogue():
    assert datasets.names() == ("arxiv", "drosophila", "fftwyt", "aucs", "ckm", "lazega", "celegans")
    paths = []
    for name in datasets.names():
        entry = datasets.dataset(name)
        assert entry.name == name
        assert entry.title
        assert entry.licence
        assert entry.citation
        assert entry.homepage.startswith("http")
        assert len({part.path.rpartition("/")[0] for part in entry.files}) == 1  # they stand beside each other
        for part in entry.files:
            revision = r"https://raw\.githubusercontent\.com/[\w-]+/\w+/[0-9a-f]{40}/.+"
            assert re.fullmatch(revision, part.address)
            assert re.fullmatch("[0-9a-f]{64}", part.sha256)
        paths += [part.path for part in entry.files]
    assert len(set(paths)) == len(paths)


@pytest.mark.parametrize(
    ("name", "near"),
    [("arxv", "did you mean arxiv?"), ("Drosophila", "did you mean drosophila?"), ("ff-tw-yt", "did you mean fftwyt?")],
)
def test_an_unknown_name_suggests_near_ones(name, near):
    text = message(name)
    assert f"no data set '{name}'" in text
    assert near in text
    assert "celegans" in text


def test_an_unknown_name_with_none_near():
    text = message("\x1b[31mqqqqqqqq")
    assert "did you mean" not in text
    assert "\x1b" not in text


# ---- the folder ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("under", ["tiny_folder", "."], ids=["in its subfolder", "directly"])
@pytest.mark.usefixtures("tiny")
def test_folder(monkeypatch, tmp_path, under):
    assert datasets.where("tiny") is None
    place = in_folder(monkeypatch, tmp_path / "data", under)
    assert datasets.where("tiny") == place / "tiny_multiplex.edges"
    graph = datasets.load("tiny")
    assert graph.layers == ("first", "second")
    assert (graph.n_nodes, graph.n_intra, graph.n_inter) == (7, 4, 2)
    assert graph.intra_weight is not None


@pytest.mark.usefixtures("tiny")
def test_preparation(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "_CATALOGUE", {"tiny": replace(TINY, prepared=True)})
    in_folder(monkeypatch, tmp_path / "data")
    graph = datasets.load("tiny")  # x-y is a component of its own
    assert (graph.n_nodes, graph.n_intra, graph.n_inter) == (5, 3, 2)
    assert graph.intra_weight is None


@pytest.mark.parametrize("name", ["tiny_multiplex.edges", "tiny_layers.txt"])
@pytest.mark.usefixtures("tiny")
def test_a_damaged_file_is_named_with_both_checksums(monkeypatch, tmp_path, name):
    place = in_folder(monkeypatch, tmp_path / "data")
    content = (place / name).read_bytes() + b"\n"
    (place / name).write_bytes(content)
    text = message()
    assert str(place / name) in text
    assert hashlib.sha256(content).hexdigest() in text
    assert next(part.sha256 for part in TINY.files if part.name == name) in text


@pytest.mark.usefixtures("tiny")
def test_an_incomplete_folder_names_what_is_missing(monkeypatch, tmp_path):
    place = in_folder(monkeypatch, tmp_path / "data")
    (place / "tiny_layers.txt").unlink()
    assert datasets.where("tiny") is None
    assert message() == (
        f"data set tiny: no file {place / 'tiny_layers.txt'}; get it from https://example.invalid/tiny_layers.txt"
    )


@pytest.mark.usefixtures("tiny")
def test_a_folder_that_is_none(monkeypatch, tmp_path):
    monkeypatch.setenv("MPXGAT_DATA", str(tmp_path / "absent"))
    assert message() == f"MPXGAT_DATA is '{tmp_path / 'absent'}', expected a folder that exists"


# ---- fetching ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("tiny")
def test_fetched_once_then_cached(monkeypatch, tmp_path, capfd):
    asked = online(monkeypatch)
    graph = datasets.load("tiny")
    assert asked == [part.address for part in TINY.files]
    assert graph.layers == ("first", "second")  # the names' file stands beside the links' file
    assert datasets.where("tiny") == tmp_path / "cache" / "tiny_folder" / "tiny_multiplex.edges"
    offline(monkeypatch)
    assert datasets.load("tiny") == graph
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("tiny")
def test_a_folder_without_the_file_does_not_prevent_fetching(monkeypatch, tmp_path):
    monkeypatch.setenv("MPXGAT_DATA", str(tmp_path))
    assert online(monkeypatch) == []
    assert datasets.load("tiny").n_layers == 2


@pytest.mark.usefixtures("tiny")
def test_a_damaged_cached_file_is_fetched_again(monkeypatch, tmp_path):
    online(monkeypatch)
    graph = datasets.load("tiny")
    (tmp_path / "cache" / "tiny_folder" / "tiny_multiplex.edges").write_bytes(b"1 a")
    asked = online(monkeypatch)
    assert datasets.load("tiny") == graph
    assert asked == [TINY.files[0].address]


@pytest.mark.usefixtures("tiny")
def test_another_version_at_the_provider_is_refused(monkeypatch, tmp_path):
    online(monkeypatch, edges=b"1 a b 1\n")
    text = message()
    assert TINY.files[0].sha256 in text
    assert hashlib.sha256(b"1 a b 1\n").hexdigest() in text
    assert list((tmp_path / "cache" / "tiny_folder").iterdir()) == []


@pytest.mark.usefixtures("tiny")
def test_offline_and_not_cached_says_where_to_get_it_and_how_to_point_to_it(capfd):
    assert message() == (
        "data set tiny: cannot fetch https://example.invalid/tiny_multiplex.edges (Network is unreachable); get "
        "tiny_multiplex.edges there or from https://example.invalid/home, put it at tiny_folder/tiny_multiplex.edges "
        "in a folder of yours, and set MPXGAT_DATA to that folder"
    )
    assert capfd.readouterr() == ("", "")


def test_an_address_where_nobody_answers(monkeypatch, tmp_path):
    # The real downloader, towards a port of this machine that is closed.
    closed = replace(TINY, files=(file("tiny_multiplex.edges", EDGES, "http://127.0.0.1:9/"),))
    monkeypatch.setattr(datasets, "_CATALOGUE", {"tiny": closed})
    monkeypatch.setattr(datasets, "_cache_folder", lambda: tmp_path / "cache")
    monkeypatch.delenv("MPXGAT_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert "cannot fetch http://127.0.0.1:9/tiny_multiplex.edges (ConnectionError); get" in message()


def test_direction_is_kept_if_asked_for(tiny, monkeypatch):
    online(monkeypatch)
    assert datasets.load("tiny").intra_arcs is None
    with pytest.raises(DatasetError, match="the ties of tiny have no direction"):
        datasets.load("tiny", directed=True)
    monkeypatch.setattr(datasets, "_CATALOGUE", {"tiny": replace(TINY, directed=True)})
    directed = datasets.load("tiny", directed=True)
    assert directed.directed_layers.tolist() == [True, True]
    assert directed.undirected() == datasets.load("tiny")
