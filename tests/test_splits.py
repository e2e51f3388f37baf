from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpxgat import splits
from mpxgat.build import with_apart
from mpxgat.errors import GraphError, InputError, OutputError, SettingError
from mpxgat.io.arrays import read_arrays, write_arrays
from mpxgat.pairs import KnownUnits, pair_keys
from mpxgat.splits import KIND, IntraNegatives
from tests.examples import graph_of, random_graph

MARKING = ["marked", "units"]
PROTOCOLS = [*MARKING, "anchors 0.2", "anchors 0.5"]


def as_set(pairs):
    return {tuple(sorted(pair)) for pair in np.asarray(pairs).tolist()}


def what_it_says(read):
    try:
        read()
    except InputError as problem:
        return str(problem)
    return None


def enumerated(negatives, max_pairs=1 << 20):
    blocks = [block.pairs() for block in negatives.blocks(max_pairs)]
    return np.concatenate(blocks) if blocks else np.empty((0, 2), dtype=int)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(seed=st.integers(0, 10_000), graph_seed=st.integers(0, 20))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_training_and_test_links_part_the_graph(protocol, seed, graph_seed):
    graph = random_graph(graph_seed)
    split = splits.make_split(graph, protocol, seed)
    for kind in ("intra", "inter"):
        whole, train = as_set(getattr(graph, kind)), as_set(getattr(split.train, kind))
        test = as_set(getattr(split, kind).positives)
        assert train | test == whole
        assert not train & test
    assert list(split.train.nodes) == list(graph.nodes)


@pytest.mark.parametrize("protocol", MARKING)
def test_positives_and_negatives_follow_the_protocol(protocol):
    graph = random_graph(3, people=80)
    split = splits.make_split(graph, protocol, seed=5)
    marked = set(split.inter.negatives.nodes.tolist())
    if protocol == "marked":
        assert len(marked) == round(0.2 * graph.n_nodes)
    else:
        units = set(graph.unit[list(marked)].tolist())
        assert len(units) == round(0.2 * graph.n_units)
        assert marked == set(np.flatnonzero(np.isin(graph.unit, list(units))).tolist())
    inter_among = {pair for pair in as_set(graph.inter) if set(pair) <= marked}
    intra_among = {pair for pair in as_set(graph.intra) if set(pair) <= marked}
    assert as_set(split.inter.positives) == inter_among
    assert as_set(split.intra.positives) <= intra_among
    assert len(split.intra.positives) == round(0.2 * len(intra_among))

    layer, unit = graph.node_layer, graph.unit
    every_inter = {(u, v) for u in marked for v in marked if u < v and layer[u] != layer[v] and unit[u] != unit[v]}
    negatives = enumerated(split.inter.negatives)
    assert as_set(negatives) == every_inter
    assert len(negatives) == len(every_inter)
    every_intra = {(u, v) for u in marked for v in marked if u < v and layer[u] == layer[v]} - as_set(graph.intra)
    sample = enumerated(split.intra.negatives)
    assert as_set(sample) <= every_intra
    assert len(as_set(sample)) == len(sample)


def test_held_out_units_keep_no_inter_link():
    graph = random_graph(1)
    split = splits.held_out_units(graph, seed=0)
    assert len(split.inter.positives) > 0
    assert not np.isin(split.train.inter, split.inter.negatives.nodes).any()


def test_an_implied_link_is_never_a_negative():
    # a–b and b–c are known, a–c is not: by transitivity it is a link all the same.
    graph = graph_of("x.a y.a", "y.a z.a", "x.q x.a", "z.w z.a")
    split = splits.marked_nodes(graph, seed=0, share=1.0)
    implied = (graph.index("a", "x"), graph.index("a", "z"))
    assert implied not in as_set(enumerated(split.inter.negatives))
    assert as_set(split.inter.positives) == as_set(graph.inter)


@pytest.mark.parametrize("kind", ["intra", "inter"])
def test_negatives_do_not_depend_on_the_block_size(kind):
    negatives = getattr(splits.marked_nodes(random_graph(2, people=100), seed=1), kind).negatives
    whole = enumerated(negatives)
    assert len(whole) > 50
    for max_pairs in (1, 7, 100):
        assert as_set(enumerated(negatives, max_pairs)) == as_set(whole)
    assert all(block.mask.size <= 100 for block in negatives.blocks(100))


def test_a_fifth_of_the_intra_pairs_is_sampled_evenly():
    nodes = np.arange(1500, dtype=np.int32)
    nothing = np.empty((0, 2), dtype=np.int32)
    layer = np.zeros(1500, dtype=np.int32)
    samples = [enumerated(IntraNegatives(nodes, layer, nothing, 0.2, seed)) for seed in (0, 1)]
    n_pairs = 1500 * 1499 / 2
    spread = np.sqrt(n_pairs * 0.2 * 0.8)
    for sample in samples:
        assert abs(len(sample) - 0.2 * n_pairs) < 5 * spread
        per_node = np.bincount(sample.ravel(), minlength=1500)
        assert abs(per_node - 0.2 * 1499).max() < 6 * np.sqrt(1499 * 0.2 * 0.8)
    # Another seed takes another fifth: the two agree in a fifth of their pairs.
    common = np.isin(pair_keys(samples[0], 1500), pair_keys(samples[1], 1500)).mean()
    assert abs(common - 0.2) < 0.01


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_same_seed_same_bytes_and_back_from_the_file(protocol, tmp_path):
    graph = random_graph(4)
    first = splits.save_split(splits.make_split(graph, protocol, 7), tmp_path / "a.split")
    again = splits.save_split(splits.make_split(graph, protocol, 7), tmp_path / "b.split")
    other = splits.save_split(splits.make_split(graph, protocol, 8), tmp_path / "c.split")
    assert first.read_bytes() == again.read_bytes()
    assert first.read_bytes() != other.read_bytes()
    split, loaded = splits.make_split(graph, protocol, 7), splits.load_split(first)
    assert (loaded.protocol, loaded.seed) == (protocol, 7)
    assert loaded.train == split.train
    for kind in ("intra", "inter"):
        ours, theirs = getattr(split, kind), getattr(loaded, kind)
        assert np.array_equal(ours.positives, theirs.positives)
        assert np.array_equal(enumerated(ours.negatives), enumerated(theirs.negatives))


@pytest.mark.parametrize("protocol", sorted(splits.PROTOCOLS))
def test_validation_by_the_seed_of_the_split_itself_has_links_of_every_kind_that_is_hidden(protocol):
    """Marked by the same numbers, the nodes would be those whose inter links are hidden already."""
    split = splits.make_split(random_graph(5, people=200), protocol, seed=7)
    inner = split.validation(seed=7)
    assert len(inner.inter.positives) > 5
    assert (len(inner.intra.positives) > 5) == (protocol != "anchors")
    again = splits.validation_split(split.train, protocol, 7)
    assert np.array_equal(again.inter.positives, inner.inter.positives)
    assert not np.array_equal(again.inter.positives, split.validation(seed=8).inter.positives)


def test_a_wrong_seed_of_a_validation_is_told():
    with pytest.raises(SettingError, match="seed -1"):
        splits.validation_split(random_graph(5), "marked", -1)


def test_validation_is_cut_from_the_training_links_alone():
    graph = random_graph(5)
    split = splits.marked_nodes(graph, seed=0)
    inner = split.validation(seed=100)
    assert as_set(inner.train.intra) | as_set(inner.intra.positives) == as_set(split.train.intra)
    assert as_set(inner.train.inter) | as_set(inner.inter.positives) == as_set(split.train.inter)


def test_settings_out_of_range_are_refused():
    graph = random_graph(0)
    with pytest.raises(SettingError, match="no protocol 'leaky'; known are marked, units"):
        splits.make_split(graph, "leaky", 0)
    with pytest.raises(SettingError, match="seed -1"):
        splits.marked_nodes(graph, seed=-1)
    with pytest.raises(SettingError, match="share 0"):
        splits.held_out_units(graph, seed=0, share=0)


# ---- few anchors known -------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), graph_seed=st.integers(0, 20), known=st.floats(0, 1, exclude_max=True))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_anchors_keep_all_intra_links_and_hide_whole_units(seed, graph_seed, known):
    graph = random_graph(graph_seed)
    split = splits.make_split(graph, "anchors", seed, known=known)
    assert np.array_equal(split.train.intra, graph.intra)
    assert len(split.intra.positives) == len(enumerated(split.intra.negatives)) == 0
    hidden = set(graph.unit[split.inter.positives.ravel()].tolist())
    assert not hidden & set(graph.unit[split.train.inter.ravel()].tolist())
    anchors = {unit for unit in range(graph.n_units) if len(set(graph.node_layer[graph.unit == unit])) > 1}
    assert hidden <= anchors
    assert len(anchors) - len(hidden) == round(known * len(anchors))
    assert set(split.marked.tolist()) == set(np.flatnonzero(np.isin(graph.unit, list(hidden))).tolist())


def test_non_links_of_anchors_are_all_pairs_of_different_layers_that_are_no_link():
    graph = random_graph(3)
    split = splits.known_anchors(graph, seed=5)
    layer, unit = graph.node_layer, graph.unit
    every = {(u, v) for v in range(graph.n_nodes) for u in range(v) if layer[u] != layer[v] and unit[u] != unit[v]}
    negatives = enumerated(split.inter.negatives, max_pairs=50)
    assert as_set(negatives) == every
    assert len(negatives) == len(every)


def test_what_is_known_at_a_small_share_is_known_at_a_larger_one():
    graph = random_graph(4, people=100)
    known = [as_set(splits.known_anchors(graph, 3, share).train.inter) for share in (0, 0.05, 0.2, 0.5)]
    assert not known[0]
    assert known[0] < known[1] < known[2] < known[3]
    assert known[2] != as_set(splits.known_anchors(graph, 4, 0.2).train.inter)


def test_validation_of_anchors_hides_a_fifth_of_the_known_units():
    graph = random_graph(5, people=200)
    split = splits.make_split(graph, "anchors 0.5", seed=1)
    inner = split.validation(seed=1)
    before, left = (len(np.unique(graph.unit[train.inter])) for train in (split.train, inner.train))
    assert left == round(0.8 * before)
    assert as_set(inner.inter.positives) <= as_set(split.train.inter)


@pytest.mark.parametrize(
    ("protocol", "known", "text"),
    [
        ("marked", None, "marked"),
        ("anchors", None, "anchors 0.2"),
        ("anchors", 0.05, "anchors 0.05"),
        ("anchors 0.50", None, "anchors 0.5"),
        ("anchors 0.5", 0.5, "anchors 0.5"),
        ("anchors", 0, "anchors 0.0"),
    ],
)
def test_a_protocol_has_one_text(protocol, known, text):
    assert splits.protocol_text(protocol, known) == text
    assert splits.protocol_text(text) == text
    assert splits.make_split(random_graph(0), protocol, 0, known).protocol == text


@pytest.mark.parametrize(
    ("protocol", "known", "said"),
    [
        ("anchors", 1, "a share of 1 of the units is known, expected a number from 0 to less than 1"),
        ("anchors nan", None, "a share of nan of the units"),
        ("anchors few", None, "no protocol 'anchors few', expected such as 'anchors 0.2'"),
        ("anchors 0.2", 0.3, "a known share of 0.3 with the protocol 'anchors 0.2'"),
        ("units 0.2", None, "no protocol 'units 0.2'; known are marked, units, anchors"),
        ("units", 0.2, r"a known share \(0.2\) with the protocol units"),
    ],
)
def test_a_share_that_makes_no_sense_is_refused(protocol, known, said):
    with pytest.raises(SettingError, match=said):
        splits.make_split(random_graph(0), protocol, 0, known)


def two_lists(graph, seed=0):
    order = np.random.default_rng(seed).permutation(len(graph.inter))
    return graph.inter[order[:10]], graph.inter[order[10:], ::-1]  # in any order, either end first


def test_lists_take_the_place_of_the_graphs_own_links():
    graph = random_graph(6, layers=2)
    known, hidden = two_lists(graph)
    half = graph.without(inter=graph.inter[::2])
    for own in (graph, half, graph.without(inter=graph.inter)):
        split = splits.anchored_split(own, known, hidden, seed=4)
        assert (split.protocol, split.seed) == ("anchors listed", 4)
        assert as_set(split.train.inter) == as_set(known)
        assert as_set(split.inter.positives) == as_set(hidden)
        assert np.array_equal(split.train.intra, graph.intra)
    # What is hidden leaves no trace in what is trained on.
    assert splits.anchored_split(graph, known, hidden[:1]).train == split.train
    assert len(split.validation(0).inter.positives) == 2


def test_lists_in_a_file_and_back(tmp_path):
    split = splits.anchored_split(random_graph(6, layers=2), *two_lists(random_graph(6, layers=2)), seed=4)
    loaded = splits.load_split(splits.save_split(split, tmp_path / "x.split"))
    assert (loaded.protocol, loaded.seed, loaded.train) == (split.protocol, split.seed, split.train)
    assert np.array_equal(loaded.inter.positives, split.inter.positives)
    assert np.array_equal(enumerated(loaded.inter.negatives), enumerated(split.inter.negatives))


def test_lists_that_contradict_are_refused():
    graph = graph_of("x.a x.b", "y.p y.q", "z.s z.t", layers="xyz")
    a, b, p, q, s, t = range(6)
    wrong = {
        "expected at most one counterpart in a layer": ([[a, p]], [[a, q]]),
        "are in one layer": ([[a, b]], [[a, q]]),
        "known or hidden as a whole": ([[a, p]], [[p, s]]),
        "from -1 to 1": ([[a, b]], [[a, -1]]),
        "from 0 to 6": ([[a, b]], [[a, 6]]),
    }
    for said, (known, hidden) in wrong.items():
        with pytest.raises(GraphError, match=said):
            splits.anchored_split(graph, known, hidden)
    with pytest.raises(GraphError, match="known or hidden as a whole"):
        splits.anchored_split(graph, [[a, p]], [[p, a]])
    assert len(splits.anchored_split(graph, [], [[a, p], [p, s], [b, t]]).inter.positives) == 3


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_known_to_be_different_stays_and_changes_no_target(tmp_path, protocol):
    graph = random_graph(6)
    first, second = np.nonzero((graph.node_layer[:, None] < graph.node_layer) & (graph.unit[:, None] != graph.unit))
    pairs = np.stack([first, second], axis=1)[::50]
    plain, split = (splits.make_split(each, protocol, 3) for each in (graph, with_apart(graph, pairs)))
    assert np.array_equal(split.train.apart, pairs)
    assert split.train.without(apart=pairs) == plain.train
    for kind in ("intra", "inter"):
        one, other = getattr(plain, kind), getattr(split, kind)
        assert np.array_equal(one.positives, other.positives)
        assert np.array_equal(enumerated(one.negatives), enumerated(other.negatives))
    hidden = split.inter.positives
    assert not KnownUnits.of(split.train).apart(hidden[:, 0], hidden[:, 1]).any()
    assert splits.load_split(splits.save_split(split, tmp_path / "x.split")).train == split.train


def test_lists_that_join_what_is_different_are_refused():
    graph = with_apart(graph_of("x.a x.b", "y.p y.q", "z.s z.t", layers="xyz"), [[0, 4]])
    with pytest.raises(GraphError, match=r"'a' .* and 's' .* a chain of known links makes them one unit"):
        splits.anchored_split(graph, [[1, 3]], [[0, 2], [2, 4]])


def fewer_hidden_units(split):
    left = split.inter.positives[9:]
    return {"inter_positives": left, "marked": np.unique(left)}


def a_marked_node_without_a_hidden_link(split):
    return {"marked": np.arange(split.train.n_nodes, dtype=np.int32)}


@pytest.mark.parametrize("change", [fewer_hidden_units, a_marked_node_without_a_hidden_link])
def test_anchors_that_no_share_makes_are_refused(tmp_path, change):
    split = splits.known_anchors(random_graph(0, layers=2), seed=0)
    path = splits.save_split(split, tmp_path / "split.split")
    splits.load_split(path)
    with pytest.raises(InputError, match=r"split\.split: .*(known units of|without a hidden inter link)"):
        splits.load_split(edited(path, **change(split)))


@pytest.mark.parametrize("protocol", ["anchors", "anchors 0.20", "anchors 0.5", "anchors 2", "units", 0.2, ["anchors"]])
def test_a_file_with_another_protocol_than_its_own_is_refused(tmp_path, protocol):
    path = splits.save_split(splits.known_anchors(random_graph(0), seed=0), tmp_path / "split.split")
    with pytest.raises(InputError, match=r"split\.split: "):
        splits.load_split(edited(path, {"protocol": protocol}))


def edited(path, header=(), **arrays):
    """The split file with another header or other arrays, its checksum right."""
    found, content = read_arrays(path, KIND)
    write_arrays(path, KIND, found | dict(header), content | {k.replace("_", "."): v for k, v in arrays.items()})
    return path


@pytest.fixture
def saved(tmp_path):
    return splits.save_split(splits.marked_nodes(random_graph(0), seed=0), tmp_path / "split.split")


@pytest.mark.parametrize(
    "change",
    [{"seed": -1}, {"seed": 2**63}, {"seed": float("inf")}, {"seed": "0"}, {"seed": True}, {"protocol": "leaky"}],
)
def test_a_split_file_whose_header_makes_no_sense_is_refused(saved, change):
    splits.load_split(edited(saved))  # so far it is as it was
    with pytest.raises(InputError, match=r"split\.split: "):
        splits.load_split(edited(saved, change))


@pytest.mark.parametrize("protocol", MARKING)
def test_what_is_no_link_is_not_read_from_the_file(tmp_path, protocol):
    """Non-links follow from the training graph, the marked nodes and the hidden links: no file can tell others."""
    split = splits.make_split(random_graph(0), protocol, 0)
    path = splits.save_split(split, tmp_path / "split.split")
    edited(path, {"intra_share": 1.0, "intra_seed": 7}, marked_unit=np.arange(len(split.inter.negatives.nodes)))
    loaded = splits.load_split(path)
    for kind in ("intra", "inter"):
        ours, theirs = getattr(split, kind).negatives, getattr(loaded, kind).negatives
        assert len(enumerated(ours)) > 20
        assert np.array_equal(enumerated(ours), enumerated(theirs))


def fewer_marked(arrays, train):
    return {"marked": arrays["marked"][:-3]}


def more_marked(arrays, train):
    return {"marked": np.arange(train.n_nodes, dtype=np.int32)}


def one_hidden_link_less(arrays, train):
    return {"intra_positives": arrays["intra.positives"][1:]}


def a_training_link(arrays, train):
    return {"intra_positives": train.intra[:1]}


def an_inter_link_as_intra(arrays, train):
    return {"intra_positives": arrays["inter.positives"][: len(arrays["intra.positives"])]}


def the_same_link_twice(arrays, train):
    pairs = arrays["inter.positives"].copy()
    pairs[1] = pairs[0]
    return {"inter_positives": pairs}


def a_unit_twice_in_a_layer(arrays, train):
    one, other = np.flatnonzero(train.node_layer[arrays["marked"]] == 0)[:2]
    copy = np.flatnonzero(train.node_layer[arrays["marked"]] == 1)[0]
    pairs = np.array([[one, copy], [other, copy]], dtype=np.int32)
    return {"inter_positives": arrays["marked"][pairs]}


@pytest.mark.parametrize(
    "change",
    [
        fewer_marked,
        more_marked,
        one_hidden_link_less,
        a_training_link,
        an_inter_link_as_intra,
        the_same_link_twice,
        a_unit_twice_in_a_layer,
    ],
)
def test_targets_that_no_protocol_makes_are_refused(saved, change):
    with pytest.raises(InputError, match=r"split\.split: .*(hidden|inter link|expected)"):
        splits.load_split(edited(saved, **change(read_arrays(saved, KIND)[1], splits.load_split(saved).train)))


def test_half_a_unit_cannot_be_marked(tmp_path):
    path = splits.save_split(splits.marked_nodes(random_graph(0), seed=0), tmp_path / "split.split")
    with pytest.raises(InputError, match="expected whole units to be marked"):
        splits.load_split(edited(path, {"protocol": "units"}))


def test_a_split_that_no_protocol_made_cannot_be_saved(tmp_path):
    split = splits.marked_nodes(random_graph(0), seed=0)
    other = replace(split.intra, negatives=replace(split.intra.negatives, share=0.5))
    with pytest.raises(SettingError, match=r"share 0\.5 and seed 0, expected 0\.2 and 0"):
        splits.save_split(replace(split, intra=other), tmp_path / "split.split")


def test_damaged_split_files_are_refused_by_name(tmp_path):
    path = splits.save_split(splits.marked_nodes(random_graph(0), seed=0), tmp_path / "split.split")
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(rng.integers(1, 4)):
            damaged[rng.integers(len(damaged))] = rng.integers(256)
        path.write_bytes(damaged[: rng.integers(1, len(damaged) + 1)] if rng.random() < 0.3 else damaged)
        said = what_it_says(lambda: splits.load_split(path))
        assert (said is None) == (path.read_bytes() == whole)
        assert said is None or (str(path) in said and "\n" not in said)
    path.write_bytes(b"something else")
    with pytest.raises(InputError, match="not a file of kind mpxgat-split-2"):
        splits.load_split(path)
    with pytest.raises(InputError, match="no such file"):
        splits.load_split(tmp_path / "none.split")
    with pytest.raises(OutputError, match="no such file or folder"):
        splits.save_split(splits.marked_nodes(random_graph(0), seed=0), tmp_path / "no" / "split.split")
    assert [p.name for p in tmp_path.iterdir()] == ["split.split"]
