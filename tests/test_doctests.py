import doctest

import pytest

import mpxgat.models.adapted
import mpxgat.models.mpxgat


@pytest.mark.parametrize("module", [mpxgat.models.adapted, mpxgat.models.mpxgat])
def test_the_examples_in_docstrings_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
