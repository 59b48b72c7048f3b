"""Ticks that a person types for `send`: options joined by the separator, or yes and no about each."""

import pytest

from parties.service.given import Parties
from parties.service.test_ticks_collected import asked, ticks
from shuffledp.cli.send_command import answers_typed
from shuffledp.files.devices import randomize_each


@pytest.mark.parametrize(
    ("keys", "typed"),
    [({}, ["car; bus"]), ({}, [""]), ({"option_columns": ["c", "b", "f"]}, ["c=yes", "b=no", "f="])],
)
def test_what_is_typed_is_one_persons_answer(keys, typed):
    collection = Parties(asked(ticks(**keys))).collection
    sent = randomize_each(collection.task, answers_typed(collection, typed, [], ask=False))
    assert (sent.num_users, len(sent.reports[0])) == (1, 3)


def test_the_prompt_names_the_options():
    question = asked(ticks()).columns[0].randomizer
    assert question.typed_answers(("transport",)) == (("car; bus; bicycle",),)
    assert (
        asked(ticks(option_columns=["c", "b", "f"])).columns[0].randomizer.typed_answers(("c", "b", "f"))
        == (("yes", "no"),) * 3
    )
