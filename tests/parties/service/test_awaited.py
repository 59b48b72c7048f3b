"""What a fetch says that it waits for: who is away, who is behind, and since which step."""

import pytest

from shuffledp.parties.agreement.agreement_courier import HostStanding
from shuffledp.parties.agreement.agreement_steps import Stage
from shuffledp.parties.service.awaited import Awaited

URLS = ["https://a.example", "https://b.example", "https://c.example"]
AWAY, OPEN = HostStanding(), HostStanding(Stage.OPEN)


def at(stage, *waits_for):
    return HostStanding(stage, waits_for)


@pytest.mark.parametrize(
    ("standings", "text"),
    [
        ([OPEN] * 3, "Waiting for the close."),
        ([AWAY, OPEN, OPEN], "Waiting for the close; and for https://a.example, which does not answer."),
        (
            [at(Stage.FROZEN, 1, 2), at(Stage.FROZEN, 0, 2), AWAY],
            "Waiting since step 1 of 4 for https://c.example, which does not answer.",
        ),
        (
            [at(Stage.SIGNED, 1), AWAY, AWAY],
            "Waiting since step 3 of 4 for https://b.example and https://c.example, which do not answer.",
        ),
        (
            [at(Stage.REVEALED, 1), OPEN, AWAY],
            "Waiting since step 2 of 4 for https://c.example, which does not answer; and for https://b.example, which "
            "is not so far.",
        ),
        (  # it has done the same step, and shows nobody its message
            [at(Stage.FROZEN, 2), at(Stage.FROZEN, 2), at(Stage.FROZEN)],
            "Waiting since step 1 of 4 for https://c.example, which is not so far.",
        ),
        ([at(Stage.AGREED)] * 3, ""),
    ],
)
def test_who_is_waited_for_is_named_with_the_step_that_the_others_have_done(standings, text):
    assert Awaited.between(URLS, standings).text == text


def test_one_shuffler_has_no_steps():
    assert Awaited(silent=("https://a.example",)).text == (
        "Waiting for the close; and for https://a.example, which does not answer."
    )
