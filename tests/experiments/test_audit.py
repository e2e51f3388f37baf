"""The audit shows a leak; these tests hold it to what it says it does."""

import json
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from mpxgat import splits, synthetic
from mpxgat.errors import InputError, ResumeError, SettingError
from mpxgat.evaluation import evaluate
from mpxgat.experiments import audit as audit_module
from mpxgat.experiments import audit_training
from mpxgat.experiments.audit import audit, audit_split, fake_links, scored_as_published
from mpxgat.experiments.audit_tables import KINDS, markdown_audits, read_records, rows_by_way, write_audit_chart
from mpxgat.experiments.audit_training import AuthorsWay, DrawnOnce, any_pairs, one_way
from mpxgat.metrics import auc
from mpxgat.models import make_model
from mpxgat.models.mpxgat import PAPERS_TRAINING
from mpxgat.nn.ops import pair_scores
from mpxgat.pairs import pair_keys
from mpxgat.training.links import BetweenLayers, LinkTrainee
from mpxgat.training.parallel import Session

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL = {"hidden": 8, "out": 8, "heads": 2, "epochs": 4, "check_every": 2}
AUTHORS = PAPERS_TRAINING | SMALL
SEED = 100


@pytest.fixture(scope="module")
def graph():
    return synthetic.social(people=120, layers=3, seed=SEED)


@pytest.fixture(scope="module")
def split(graph):
    return splits.marked_nodes(graph, seed=SEED)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="module")
def found(graph, folder):
    return audit(graph, "social", SMALL, [SEED, SEED + 1], folder)


@pytest.fixture(scope="module")
def authors(split):
    return AuthorsWay(seed=SEED, **AUTHORS).fit(split.train)


def weights_of(model):
    return [{name: value.clone() for name, value in net.state_dict().items()} for _, net in model.networks()]


def same_weights(one, other):
    pairs = zip(weights_of(one), weights_of(other), strict=True)
    return all(torch.equal(a[name], b[name]) for a, b in pairs for name in {**a, **b})


class TestFigures:
    def test_there_is_a_mean_and_a_spread_for_each(self, found):
        assert list(found) == [
            "kind", "dataset", "seeds", "dropout_scorings", "intra", "inter", "settings", "training",
        ]  # fmt: skip
        assert (found["dataset"], found["seeds"], found["dropout_scorings"]) == ("social", [SEED, SEED + 1], 10)
        for kind, names in KINDS.items():
            assert list(found[kind]) == [*names, "published", "std", "test_links"]
            assert all(0 <= found[kind][name] <= 1 for name in names)
            assert found[kind]["std"].keys() == set(names)
            assert found[kind]["published"] is None  # of no data set of the paper
        assert {"authors_real", "leak_free", "untrained_fake"} <= set(KINDS["intra"])
        assert set(KINDS["inter"]) - set(KINDS["intra"]) == {"leak_free_hard_pairs"}
        json.dumps(found, allow_nan=False)

    def test_leak_free_figures_are_those_of_the_ordinary_evaluation(self, graph, folder, found, split, authors):
        found = audit(graph, "social", SMALL, [SEED], folder)
        ours = make_model("mpxgat", seed=SEED, preset="reference", **AUTHORS).fit(split.train)
        fair = evaluate(ours, split)
        assert found["intra"]["leak_free"] == fair.intra.values["auc"]
        assert found["inter"]["leak_free"] == fair.inter.values["auc"]
        assert found["inter"]["leak_free_hard_pairs"] == fair.inter.values["auc_hard"]
        assert found["settings"]["ours"] == ours.settings
        theirs = evaluate(authors, split)
        assert found["intra"]["authors_leak_free"] == theirs.intra.values["auc"]
        assert found["inter"]["authors_leak_free"] == theirs.inter.values["auc"]
        assert found["intra"]["std"] == found["inter"]["std"] == {}

    def test_means_and_spreads_are_over_the_seeds(self, graph, folder, found):
        each = [audit(graph, "social", SMALL, [seed], folder)["inter"]["authors_real"] for seed in found["seeds"]]
        assert found["inter"]["authors_real"] == pytest.approx(np.mean(each))
        assert found["inter"]["std"]["authors_real"] == pytest.approx(np.std(each, ddof=1))

    def test_no_epochs_are_no_training(self, graph):
        found = audit(graph, "drosophila", SMALL | {"epochs": 0}, [SEED])
        for kind in KINDS:
            for scored in ("real", "fake", "leak_free"):
                assert found[kind][f"authors_{scored}"] == found[kind][f"untrained_{scored}"]
            assert found[kind]["leak_free"] == found[kind]["untrained_leak_free"]
        assert found["intra"]["ours_real"] == found["intra"]["untrained_real"]
        assert (found["intra"]["published"], found["inter"]["published"]) == (0.76, 0.86)
        assert found["settings"]["ours"]["lr"] == 5e-4  # published
        assert {way["preset"] for way in found["settings"].values()} == {"reference"}

    def test_the_authors_way_has_its_own_number_of_epochs_by_default(self, graph, found, monkeypatch):
        assert found["settings"]["authors"]["epochs"] == SMALL["epochs"]  # as given
        monkeypatch.setattr(audit_module, "AUTHORS_EPOCHS", 3)
        settings = {name: value for name, value in SMALL.items() if name != "epochs"}
        found = audit(graph, "social", settings | {"patience": 1, "check_every": 1}, [SEED])
        assert (found["settings"]["authors"]["epochs"], found["settings"]["ours"]["epochs"]) == (3, 1500)
        parts = found["training"][0]["authors"]["parts"].values()
        assert {(part["epochs"], part["best"]) for part in parts} == {(3, None)}

    @pytest.mark.parametrize("setting", [{"horizontal": "random"}, {"vertical": "gat"}, {"preset": "paper"}])
    def test_another_model_is_refused(self, graph, setting):
        with pytest.raises(SettingError, match="the audit is of that alone"):
            audit(graph, "social", SMALL | setting)

    @pytest.mark.parametrize("kind", ["intra", "inter"])
    def test_without_a_test_link_there_is_nothing_to_audit(self, graph, kind):
        with pytest.raises(SettingError, match=f"no {kind}-layer test link"):
            audit(graph.without(**{kind: getattr(graph, kind)}), "toy", SMALL)


class TestFolder:
    def test_a_finished_seed_is_not_computed_again(self, graph, folder, found, monkeypatch):
        assert not any((folder / "checkpoints").iterdir())  # of seeds that are finished
        monkeypatch.setattr(audit_module, "audit_split", None)
        assert audit(graph, "social", SMALL, [SEED, SEED + 1], folder) == found
        assert audit(graph, "social", SMALL, [SEED + 1], folder)["seeds"] == [SEED + 1]

    def test_other_settings_are_refused(self, graph, folder, found):
        with pytest.raises(ResumeError, match="made with other settings"):
            audit(graph, "social", SMALL | {"dropout": 0.1}, [SEED], folder)

    def test_an_interrupted_seed_goes_on_where_it_was(self, graph, folder, found, tmp_path, monkeypatch):
        def interrupt(*arguments, **more):
            raise KeyboardInterrupt

        whole = audit(graph, "social", SMALL, [SEED], folder)
        with monkeypatch.context() as patched:
            patched.setattr(audit_module, "MPXGAT", interrupt)  # when the authors' way is trained
            with pytest.raises(KeyboardInterrupt):
                audit(graph, "social", SMALL, [SEED], tmp_path)
        kept = {path.stem for path in (tmp_path / "checkpoints" / f"seed-{SEED}" / "authors").iterdir()}
        assert kept == {"horizontal-0001", "horizontal-0002", "horizontal-0003", "vertical"}
        monkeypatch.setattr(LinkTrainee, "losses", _only_with_fresh_negatives(LinkTrainee.losses))
        assert audit(graph, "social", SMALL, [SEED], tmp_path) == whole


def _only_with_fresh_negatives(losses):
    def checked(trainee, epoch):
        assert not isinstance(trainee._sampler, DrawnOnce), "the authors' way is trained already"
        return losses(trainee, epoch)

    return checked


class TestAuthorsTraining:
    def test_test_links_are_never_seen(self, graph, split, authors):
        hidden = graph.without(intra=split.intra.positives, inter=split.inter.positives)
        assert same_weights(AuthorsWay(seed=SEED, **AUTHORS).fit(hidden), authors)

    def test_other_test_links_change_no_training(self, split, found):
        fewer = replace(
            split,
            intra=replace(split.intra, positives=split.intra.positives[1:]),
            inter=replace(split.inter, positives=split.inter.positives[1:]),
        )
        record = audit_split(fewer, "social", SMALL, lambda way: Session())
        assert {"seed": SEED, **record["training"]} == found["training"][0]  # β and validation AUC to the last digit

    def test_parts_can_be_sent_to_other_processes(self, authors):
        for part, _ in authors.networks():
            assert type(part).__name__.encode() in pickle.dumps(part)

    def test_same_seed_same_weights(self, split, authors):
        assert same_weights(AuthorsWay(seed=SEED, **AUTHORS).fit(split.train), authors)
        assert not same_weights(AuthorsWay(seed=SEED + 1, **AUTHORS).fit(split.train), authors)

    def test_it_trains(self, split, authors):
        assert not same_weights(AuthorsWay(seed=SEED, **AUTHORS | {"epochs": 0}).fit(split.train), authors)
        losses = {label: [row["loss"] for row in rows] for label, rows in authors.history.items()}
        assert losses.keys() == {part.label for part, _ in authors.networks()}
        assert all("validation" not in row for rows in authors.history.values() for row in rows)

    def test_negatives_are_drawn_once_as_many_as_training_links_and_avoid_these_only(self, split, monkeypatch):
        seen = {}
        monkeypatch.setattr(audit_training, "LinkTrainee", _watched(seen))
        AuthorsWay(seed=SEED, **AUTHORS).fit(split.train)
        graph = split.train
        numbers = [*np.bincount(graph.node_layer[graph.intra[:, 0]], minlength=3).tolist(), graph.n_inter]
        assert [len(links) for links, _ in seen.values()] == numbers  # none is cut off for validation
        for links, draws in seen.values():
            assert len(draws) == SMALL["epochs"]
            assert all(np.array_equal(draw, draws[0]) for draw in draws)
            assert len(draws[0]) == len(links)
            assert not np.isin(pair_keys(draws[0], graph.n_nodes), pair_keys(links, graph.n_nodes)).any()
        _, between = seen[3]
        layers = graph.node_layer[between[0]]
        assert (layers[:, 0] == layers[:, 1]).any()  # whatever their layers

    def test_negatives_are_any_pairs_but_the_links_themselves(self):
        links = np.array([[0, 1], [2, 3], [1, 3]])
        drawn = np.concatenate([any_pairs(5, links, np.random.default_rng(seed)) for seed in range(200)])
        assert len(drawn) == 600
        pairs = {(a, b) for a in range(5) for b in range(a + 1, 5)} - {(0, 1), (2, 3), (1, 3)}
        assert set(map(tuple, np.sort(drawn, axis=1).tolist())) == pairs

    def test_messages_go_one_way(self):
        around = one_way(4, np.array([[3, 1], [0, 1]]))
        heard = [around.senders[a:b].tolist() for a, b in pairwise(around.offsets.tolist())]
        assert heard == [[0], [0, 1], [2], [1, 3]]

    def test_a_higher_node_changes_no_lower_one(self, split):
        part, net = next(AuthorsWay(seed=SEED, **AUTHORS | {"epochs": 0}).fit(split.train).networks())
        some = part.links[np.sort(part.links, axis=1)[:, 1] < 10]
        whole = net(*part.inputs(), one_way(part.n_nodes, part.links))
        assert torch.equal(whole[:10], net(*part.inputs(), one_way(part.n_nodes, some))[:10])

    def test_horizontal_embeddings_are_handed_on_with_dropout_and_scored_without(self, split, authors):
        *layers, (between, _) = authors.networks()
        clean = np.concatenate([part.embed(net) for part, net in layers])
        assert np.array_equal(authors.horizontal, clean)
        assert not np.allclose(between.horizontal, clean)

    def test_a_layer_without_links_is_left_as_it_is(self, graph):
        graph = graph.without(intra=graph.intra[graph.node_layer[graph.intra[:, 0]] == 1])
        model = AuthorsWay(seed=0, **AUTHORS).fit(graph)
        parts = model.training_summary()["parts"].values()
        assert [part["epochs"] for part in parts] == [4, 0, 4, 4]
        assert np.isfinite(model.vertical).all()
        found = audit(graph, "social", SMALL | {"epochs": 0}, [SEED])
        assert found["intra"]["untrained_fake"] is not None


def _watched(seen):
    class Watched(LinkTrainee):
        def losses(self, epoch):
            drawn = self._sampler.draw(len(self._links), np.random.default_rng(epoch))
            number = next((n for n, (_, _, one) in enumerate(trainees) if one is self), len(trainees))
            if number == len(trainees):
                trainees.append((self._links.numpy(), [], self))
            trainees[number][1].append(drawn)
            seen[number] = trainees[number][:2]
            return super().losses(epoch)

    trainees = []
    return Watched


class TestScoring:
    def test_any_pairs_score_above_chance_once_they_carry_messages(self):
        # Few links among many nodes and a wide network, as in the audits of the paper's data sets: where a node hears
        # several others, or in a narrow network, the effect is small.
        graph = synthetic.social(people=1500, layers=3, seed=SEED)
        wide = SMALL | {"hidden": 64, "out": 64, "heads": 3, "epochs": 0}
        *_, (part, net) = AuthorsWay(seed=SEED, **wide).fit(graph).networks()
        rng = np.random.default_rng(SEED)
        pairs = np.unique(np.sort(BetweenLayers(graph.node_layer, graph.unit).draw(250, rng), axis=1), axis=0)
        three_errors = 3 * np.sqrt(1 / (6 * len(pairs)))  # of an AUC of as many links as non-links, by chance
        assert scored_as_published([(part, net)], graph, "inter", pairs) > 0.5 + three_errors
        silent = net.eval()(*part.inputs(), one_way(part.n_nodes, pairs[:0])).detach()
        others = torch.from_numpy(any_pairs(part.n_nodes, pairs, rng))
        scores = [pair_scores(silent, each).numpy() for each in (torch.from_numpy(pairs), others)]
        assert abs(auc(*scores) - 0.5) < three_errors

    def test_fake_links_are_links_neither_known_nor_hidden(self, graph, split):
        fake, n = fake_links(split), graph.n_nodes
        true = pair_keys(synthetic.truth(graph), n)
        layer = graph.node_layer
        assert len(fake["inter"]) == len(split.inter.positives)
        assert (layer[fake["inter"][:, 0]] != layer[fake["inter"][:, 1]]).all()
        assert not np.isin(pair_keys(fake["inter"], n), true).any()
        known = pair_keys(graph.intra, n)  # those of training and the hidden ones
        assert not np.isin(pair_keys(fake["intra"], n), known).any()
        for end in (0, 1):
            wanted = np.bincount(layer[split.intra.positives[:, 0]], minlength=3)
            assert np.bincount(layer[fake["intra"][:, end]], minlength=3).tolist() == wanted.tolist()
        for pairs in fake.values():
            assert len(np.unique(pair_keys(pairs, n))) == len(pairs)

    def test_intra_is_the_plain_mean_over_layers_that_have_test_links(self, split, authors):
        networks, links = list(authors.networks()), split.intra.positives.astype(np.int64)
        layer = split.train.node_layer[links[:, 0]]
        each = [scored_as_published(networks, split.train, "intra", links[layer == k]) for k in range(3)]
        assert scored_as_published(networks, split.train, "intra", links) == pytest.approx(np.mean(each))
        some = scored_as_published(networks, split.train, "intra", links[layer != 1])
        assert some == pytest.approx((each[0] + each[2]) / 2)


class TestTables:
    def test_records_are_read_the_papers_data_sets_first(self, found, tmp_path):
        for name in ("zoo", "arxiv", "fftwyt"):
            (tmp_path / f"{name}.json").write_text(json.dumps({**found, "dataset": name}))
        records = read_records(tmp_path)
        assert [record["dataset"] for record in records] == ["fftwyt", "arxiv", "zoo"]
        lines = markdown_audits(records).splitlines()
        assert len(lines) == 2 + 2 * 3
        assert lines[2].startswith("| fftwyt | 2 | intra | ")
        assert f"{found['inter']['leak_free']:.3f} ± {found['inter']['std']['leak_free']:.3f}" in lines[3]

    def test_a_row_for_each_way(self, found):
        rows = rows_by_way(found)
        assert len(rows) == len(KINDS["inter"]) + 1
        hard = next(row for row in rows if "transitivity" in row[0])
        assert hard[1] == "–"
        assert hard[2].startswith(f"{found['inter']['leak_free_hard_pairs']:.3f}")

    @pytest.mark.parametrize("damage", ["kind", "intra", "seeds"])
    def test_a_damaged_record_is_told(self, found, tmp_path, damage):
        less = {**found, damage: {}} if damage == "intra" else {k: v for k, v in found.items() if k != damage}
        (tmp_path / "one.json").write_text(json.dumps(less))
        with pytest.raises(InputError, match=r"one\.json"):
            read_records(tmp_path)

    def test_a_folder_without_records_is_told(self, tmp_path):
        with pytest.raises(InputError, match=r"no \*\.json here"):
            read_records(tmp_path)

    def test_the_chart_of_the_same_records_has_the_same_bytes(self, found, tmp_path):
        pytest.importorskip("matplotlib")
        records = [{**found, "intra": {**found["intra"], "published": 0.8}}, found]
        first = [path.read_bytes() for path in write_audit_chart(records, tmp_path / "one")]
        assert [path.read_bytes() for path in write_audit_chart(records, tmp_path / "other")] == first
        assert [len(content) > 1000 for content in first] == [True, True]
