"""Experiments as data: the built-in ones, and what is wrong with others."""

from pathlib import Path

import pytest

from mpxgat.errors import InputError
from mpxgat.experiments.config import CONFIGS, check_experiment, read_config
from mpxgat.experiments.graphs import GraphSpec, largest_layers, load_graph
from mpxgat.experiments.records import ResultsFile
from mpxgat.synthetic import social

RESULTS = Path(__file__).parents[2] / "experiments" / "results"
BUILT_IN = sorted(path for path in CONFIGS.glob("*.toml") if path.stem != "table2")
GOOD = """
title = "A table"
seeds = 2
[[cell]]
model = "rules"
dataset = "fftwyt"
[[cell]]
model = "mpxgat"
dataset = "fftwyt"
published = "fftwyt"
settings = { epochs = 3 }
figures = { inter = [0.83, 0.01] }
against = "rules"
"""
SWEEP = """
title = "A sweep"
[sweep]
argument = "overlap"
label = "overlap"
[[graph]]
social = { people = 60, layers = 2 }
values = [0, 0.5]
[quick]
values = [0.5]
social = { people = 50 }
settings = { mpxgat = { epochs = 1 } }
[[cell]]
model = "rules"
[[cell]]
model = "mpxgat"
"""


@pytest.fixture
def config(tmp_path):
    def write(text):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("path", BUILT_IN, ids=lambda path: path.stem)
def test_the_built_in_ones_name_only_what_there_is(path):
    experiment = read_config(path)
    check_experiment(experiment)
    quick = experiment.quick_version()
    check_experiment(quick)
    assert 0 < len(quick.cell_keys()) < len(experiment.cell_keys())
    assert min(quick.seeds) >= 100
    for graph in {cell.graph for cell in experiment.cells}:
        assert "rules" in [cell.model for cell in experiment.cells if cell.graph == graph]


def test_what_record_has_put_on_record_is_found():
    keys = {key.text() for key in read_config(CONFIGS / "table3.toml").with_seeds(0, 10).cell_keys()}
    records = [record.key for path in RESULTS.glob("*.jsonl") for record in ResultsFile(path).read()]
    rules = {key.text() for key in records if key.model == "rules" and key.protocol == "marked"}
    assert len(rules) >= 15
    assert rules <= keys
    found = {key.dataset for key in records if key.model == "mpxgat" and key.text() in keys}
    assert {"fftwyt", "drosophila"} <= found


def test_table_4_needs_nothing_but_the_cells_of_table_3():
    three, four = (read_config(CONFIGS / f"table{number}.toml") for number in (3, 4))
    assert three.cell_keys() == four.cell_keys()
    assert three.quick_version().cell_keys() == four.quick_version().cell_keys()


def test_what_is_not_trained_is_not_trained_in_a_quick_version_either():
    cells = read_config(CONFIGS / "table3.toml").quick_version().cells
    assert {cell.settings["epochs"] for cell in cells if "untrained" in cell.label} == {0}


def test_cells_have_published_settings_with_their_own_in_place(config):
    _, cell = read_config(config(GOOD)).cells
    settings = cell.key("marked", 0).settings
    assert (settings["heads"], settings["lr"], settings["epochs"]) == (5, 1e-5, 3)
    assert cell.figures["inter"].text() == "0.83 ± 0.01"


def test_a_sweep_is_every_cell_on_every_graph(config):
    experiment = read_config(config(SWEEP))
    assert [(cell.graph.label, cell.model, cell.x) for cell in experiment.cells] == [
        ("social(people=60,layers=2,overlap=0.0)", "rules", 0),
        ("social(people=60,layers=2,overlap=0.0)", "mpxgat", 0),
        ("social(people=60,layers=2,overlap=0.5)", "rules", 0.5),
        ("social(people=60,layers=2,overlap=0.5)", "mpxgat", 0.5),
    ]


def test_a_quick_version_says_in_what_it_is_smaller(config):
    quick = read_config(config(SWEEP)).quick_version()
    assert [(cell.graph.label, cell.settings) for cell in quick.cells] == [
        ("social(people=50,layers=2,overlap=0.5)", {}),
        ("social(people=50,layers=2,overlap=0.5)", {"epochs": 1}),
    ]
    assert quick.title == "A sweep (quick version)"
    assert quick.note == "Quick version, not for reporting: smaller networks (people = 50); mpxgat with epochs = 1."


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seeds = 2", "seeds = ", "mine.toml:3: not TOML"),
        ('title = "A table"', "", "no field 'title', expected a text"),
        ("seeds = 2", 'seeds = "two"', "seeds is 'two', expected a whole number from 1 on"),
        ("seeds = 2", "seeds = 0", "seeds is '0', expected a whole number from 1 on"),
        ("seeds = 2", f"seeds = {2**31}", "seeds is '2147483648', expected a whole number from 1 on"),
        ("seeds = 2", "seeds = 10001", "seeds is 10001, expected at most 10000"),
        ("seeds = 2", "seeds = 0x" + "f" * 9000, "seeds is '(int too long to be shown)', expected a whole number"),
        ("seeds = 2", f"[quick]\nvalues = [{10**400}]", "expected a list of numbers"),
        ("seeds = 2", "colour = 2", "no field 'colour' is known here; known are cell, graph, known, measures"),
        ("seeds = 2", 'measures = ["intr"]', "the measure 'intr', expected one of intra, inter, overall"),
        ("seeds = 2", 'protocol = "easy"', "no protocol 'easy'"),
        ("seeds = 2", 'protocol = "anchors"\nknown = 1.5', "a share of 1.5 of the units is known, expected"),
        ("seeds = 2", "known = 0.5", "a known share (0.5) with the protocol marked, expected it with anchors alone"),
        ("seeds = 2", 'measures = ["forward"]', "the measure 'forward', expected one of intra, inter, overall"),
        ("seeds = 2", "quick = 1", "quick is '1', expected a table"),
        ("seeds = 2", "[sweep]\nargument = 'known'", "[sweep] and [[graph]] stand together"),
        (
            'model = "mpxgat"',
            'model = "mpxgatt"',
            "cell 2 (mpxgatt on fftwyt): no model 'mpxgatt'; did you mean mpxgat?",
        ),
        ('model = "mpxgat"', "model = 3", "cell 2: model is '3', expected a text"),
        ('model = "mpxgat"\n', "", "cell 2: no field 'model'"),
        ('model = "mpxgat"', 'model = "mpxgat"\nlabel = "rules"', "cell 1 (rules on fftwyt): two cells of this name"),
        ('dataset = "fftwyt"\npub', 'dataset = "fftwy"\npub', "cell 2 (mpxgat on fftwy): no data set 'fftwy'; did you"),
        ('dataset = "fftwyt"\npub', 'dataset = "a.mpx"\npub', "cell 2 (mpxgat on a.mpx): no file 'a.mpx'"),
        ('dataset = "fftwyt"\npub', "pub", "cell 2: no field 'dataset'"),
        ('dataset = "fftwyt"\npub', "social = { crowd = 3 }\npub", "cell 2: social has no argument 'crowd'"),
        ('dataset = "fftwyt"\npub', 'social = { people = "all" }\npub', "cell 2: people is 'all', expected a number"),
        ('dataset = "fftwyt"\npub', "social = { names = 1 }\npub", "cell 2: names is '1', expected true or false"),
        ('dataset = "fftwyt"\npub', "social = { people = true }\npub", "cell 2: people is 'True', expected a number"),
        ('published = "fftwyt"', 'published = "aucs"', "cell 2 (mpxgat on fftwyt): no published settings for 'aucs'"),
        ("{ epochs = 3 }", "{ epoch = 3 }", "cell 2 (mpxgat on fftwyt): no setting 'epoch'; known are"),
        ("{ epochs = 3 }", f"{{ lr = {10**400} }}", "lr is '1" + "0" * 59 + "… (401 characters)', expected a number"),
        ("{ epochs = 3 }", f"{{ epochs = {2**63} }}", "epochs is '9223372036854775808', expected a whole number"),
        ("{ epochs = 3 }", '{ epochs = "3" }', "cell 2 (mpxgat on fftwyt): epochs is '3', expected a whole number"),
        ("[0.83, 0.01]", "0.83", "cell 2, figures: inter is '0.83', expected a list of numbers"),
        ("[0.83, 0.01]", "[]", "cell 2, figures: inter has 0 numbers"),
        ('against = "rules"', 'against = "gat"', "cell 2 (mpxgat on fftwyt): against 'gat', which is no cell"),
        ('against = "rules"', "agaist = 1", "cell 2: no field 'agaist' is known here"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_cell(config, old, new, said):
    assert old in GOOD
    path = config(GOOD.replace(old, new))
    with pytest.raises(InputError) as error:
        check_experiment(read_config(path))
    assert str(error.value).startswith(f"{path}:")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"overlap"\nlabel', '"crowd"\nlabel', "graph 1: social has no argument 'crowd'"),
        ("[0, 0.5]", "[0.5, 1.5]", "(rules on social(people=60,layers=2,overlap=1.5)): overlap is '1.5'"),
        ("[0, 0.5]", "3", "graph 1: values is '3', expected a list of numbers"),
        ("social = { people = 60, layers = 2 }", 'dataset = "arxiv"', "graph 1: overlap = 0 on a data set"),
        ("values = [0.5]", "values = [0.7]", "quick: it leaves no cell"),
        ("{ people = 50 }", "{ crowd = 50 }", "quick: social has no argument 'crowd'"),
        ("{ mpxgat = ", "{ gat = ", "quick: settings of 'gat', which is no model of a cell"),
        ("{ epochs = 1 }", "1", "quick, settings: mpxgat is '1', expected a table"),
        ('label = "overlap"', 'label = "x"\nscale = "wide"', "sweep: scale is 'wide', expected linear or log"),
    ],
)
def test_what_is_wrong_with_a_sweep_is_named(config, old, new, said):
    assert old in SWEEP
    with pytest.raises(InputError) as error:
        check_experiment(read_config(config(SWEEP.replace(old, new))))
    assert said in str(error.value)


@pytest.mark.parametrize(
    "label",
    [
        "arxiv",
        "some/file.edges",
        "arxiv[top 3 layers]",
        "social(people=60,overlap=0.5)",
        "social()",
        "social(people=60,names=true)",
    ],
)
def test_labels_are_read_as_they_were_written(label):
    assert GraphSpec.parse(label).label == label


def test_the_same_numbers_give_the_same_label():
    assert GraphSpec.of_social({"known": 1, "people": 60}) == GraphSpec.of_social({"people": 60, "known": 1.0})


def test_a_planted_network_is_the_seeds_own():
    assert load_graph("social(people=60,layers=2)", 3) == social(people=60, layers=2, seed=3)
    assert load_graph("social(people=60,layers=2)", 4) != load_graph("social(people=60,layers=2)", 3)
    assert load_graph("social(people=60,names=true)", 3) == social(people=60, seed=3, names=True)


def test_the_largest_layers_have_the_most_nodes():
    graph = social(people=80, layers=4, presence=0.5, seed=0)
    sizes = dict(zip(graph.layers, (graph.layer_start[1:] - graph.layer_start[:-1]).tolist(), strict=True))
    two = largest_layers(graph, 2)
    assert {sizes[name] for name in two.layers} == set(sorted(sizes.values())[-2:])
    assert len(set(two.component_labels())) == 1
    assert largest_layers(graph, 4) == graph.largest_component()
