import pytest

from tests.endurance.works import stage as set_stage


@pytest.fixture(scope="session")
def stage(tmp_path_factory):
    """Commands on a tiny network in child processes; set once."""
    with set_stage(tmp_path_factory.mktemp("stage") / "stage") as made:
        yield made
