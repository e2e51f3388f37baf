"""Ray as an engine: the same bytes as without, plain errors, and a machine that dies in the middle of a training."""

import sys
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from mpxgat.distributed.ray import RayEngine
from mpxgat.errors import MpxgatError, SettingError, TrainingError
from mpxgat.evaluation import repeat, repeat_on
from mpxgat.matching import match_all
from mpxgat.models import make_model
from mpxgat.models.evidence.matching import find_candidates
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.splits import marked_nodes
from mpxgat.synthetic import social
from mpxgat.training.parallel import Processes, Session

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'mpxgat[ray]'")
# Ray leaves sockets and log files to the end of the process.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::DeprecationWarning:ray.*",  # of its own doing, as Ray Train is imported
)

GRAPH = social(people=60, layers=3, seed=100)
TINY = {"hidden": 8, "out": 8, "heads": 2, "epochs": 30}


def new_rules(seed):
    return make_model("rules", seed=seed)


def trained(engine, folder=None, **settings):
    session = Session(folder, {"graph": GRAPH.fingerprint()}, engine=engine, save_every=0.05)
    return MPXGAT(seed=100, **{**TINY, **settings}).fit(GRAPH, session)


def fail():
    raise SettingError("wrong in its own way")


def die():
    import os

    os._exit(1)


@pytest.fixture(scope="class")
def pool():
    with RayEngine(2).workers() as pool:
        yield pool


class TestThisMachine:
    """A Ray that is started for the work: one for all these tests."""

    def test_results_come_back_in_any_number(self, pool):
        assert [future.result() for future in [pool.submit(pow, n, 2) for n in range(9)]] == [n * n for n in range(9)]

    def test_an_error_arrives_as_it_was(self, pool):
        with pytest.raises(SettingError, match=r"^wrong in its own way$"):
            pool.submit(fail).result()

    def test_a_worker_that_dies_again_and_again_is_given_up(self, pool):
        with pytest.raises(BrokenExecutor, match="Ray gave it up"):
            pool.submit(die).result()


def test_trained_matched_and_evaluated_as_without_ray(tmp_path, monkeypatch):
    engine = RayEngine(2)
    with engine.workers():  # one Ray for all that follows
        _check_everything(engine, tmp_path, monkeypatch)


def _check_everything(engine, tmp_path, monkeypatch):
    alone, there = trained(Processes()), trained(engine)
    assert np.array_equal(alone.horizontal, there.horizontal)
    assert np.array_equal(alone.vertical, there.vertical)

    settings = {"epochs": 2, "batch": 64, "shares": 2}
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path)
    alone, together = trained(Processes(), **settings), trained(engine, Path("run"), **settings)
    assert np.array_equal(alone.horizontal, together.horizontal)
    assert np.array_equal(alone.vertical, together.vertical)

    judged = {"seed": 100, "splits": 2, "trees": 10}
    model, there = (make_model("evidence", **judged).fit(GRAPH, Session(engine=each)) for each in (Processes(), engine))
    assert model.save(Path("here")).read_bytes() == there.save(Path("there")).read_bytes()

    done = []
    found = match_all(find_candidates(model, 3, engine, done.append), 0.5, 3)
    assert found.to_table().equals(match_all(model, 0.5, 3).to_table())
    assert sum(done) == 3

    splits = [marked_nodes(GRAPH, seed) for seed in (100, 101)]
    one, other = repeat(splits, new_rules), repeat_on(engine, splits, new_rules)
    assert repr(one.evaluations) == repr(other.evaluations)  # NaN is not itself


class TestOneOfTwoMachinesDies:
    """Two addresses of the loopback stand for two machines."""

    def test_layers_apart(self, tmp_path):
        settings = {"epochs": 1500, "patience": 1500}
        left = self._train_and_kill(tmp_path, 1, "horizontal-*.safetensors", settings)
        assert len(left) == 2  # in the middle: one of three layers had not begun

    def test_a_layer_together(self, tmp_path):
        settings = {"epochs": 40, "patience": 40, "batch": 64, "shares": 2}
        left = self._train_and_kill(tmp_path, 2, "horizontal-*.worker*of2.safetensors", settings)
        assert len(left) >= 2
        assert all(name.startswith("horizontal-0001.epoch") for name in left)  # in the middle of the first layer

    def _train_and_kill(self, folder, processors, pattern, settings):
        """Train on two machines, kill the second when two checkpoints are there, and compare with one machine; what was
        there when it was killed. The first machine alone has enough ``processors`` to go on with.
        """
        from ray.cluster_utils import Cluster

        memory = {"object_store_memory": 80 * 2**20}
        head = {"num_cpus": processors, "node_ip_address": "127.0.0.2", "include_dashboard": False, **memory}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        doomed = cluster.add_node(num_cpus=1, node_ip_address="127.0.0.3", **memory)
        cluster.wait_for_nodes()
        killed = []

        def kill_when_both_are_at_work():
            while len(list(folder.glob(pattern))) < 2:
                time.sleep(0.05)
            cluster.remove_node(doomed, allow_graceful=False)
            killed.extend(sorted(path.stem for path in folder.glob(pattern)))

        killer = Thread(target=kill_when_both_are_at_work, daemon=True)
        try:
            killer.start()
            there = trained(RayEngine(2, cluster.address), folder, **settings)
        finally:
            cluster.shutdown()
        killer.join(timeout=10)
        alone = trained(Processes(), **settings)
        assert np.array_equal(alone.horizontal, there.horizontal)
        assert np.array_equal(alone.vertical, there.vertical)
        return killed


def test_no_cluster_at_an_address():
    with (
        pytest.raises(TrainingError, match=r"cannot reach a Ray at 127\.0\.0\.1:1 .* ray start --head"),
        RayEngine(1, "127.0.0.1:1").workers(),
    ):
        pass


def test_without_ray_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MpxgatError, match=r"pip install 'mpxgat\[ray\]'"), RayEngine(1).workers():
        pass
