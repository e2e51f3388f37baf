import doctest

import mpxgat.models.mpxgat


def test_the_examples_in_docstrings_run():
    result = doctest.testmod(mpxgat.models.mpxgat)
    assert result.attempted > 0
    assert result.failed == 0
