"""Commands with little memory, and networks whose texts are made to do harm."""

from tests.endurance.limits import little_memory
from tests.endurance.outcome import check
from tests.endurance.texts import harmful_texts


def test_with_little_memory_commands_say_so(stage):
    outcomes = little_memory(stage, 1, 100)
    assert len(outcomes) == 10
    check(outcomes)


def test_texts_made_to_do_harm_do_none(stage):
    check([harmful_texts(stage, 100)])
