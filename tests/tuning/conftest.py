import pytest

from tests.tuning import toy as toys


@pytest.fixture(scope="module", autouse=True)
def _toy_is_known():
    toys.register()
    yield
    toys.unregister()


@pytest.fixture
def learned():
    """The settings of all toys that learn in this test."""
    toys.LEARNED.clear()
    return toys.LEARNED
