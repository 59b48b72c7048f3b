"""What each shuffle says of itself: its name, its stage, the counts, and what lies beside a released report."""

import pytest

from shuffledp.core.shuffle_models import LabelMeaning, ShuffleModel
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffleModel
from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffleModel
from shuffledp.shufflers import IdentityShuffler, UniformShuffleModel

UNIFORM, NONE = UniformShuffleModel(num_users=10), IdentityShuffler().model(10)
STRATA = StratifiedShuffleModel(sizes=(4, 6))
IMPERFECT = ImperfectShuffleModel(num_users=10, imperfection=0.5, construction="assumed")
ROUNDS, IMPERFECT_ROUNDS = (ParallelShuffleModel(round=each, num_rounds=3) for each in (UNIFORM, IMPERFECT))


def walks():
    edges = [(person, (person + step) % 10) for person in range(10) for step in (1, 2, 3)]
    import shuffledp as sdp

    return RandomWalkShuffler(graph=sdp.Graph.from_edges(edges), num_rounds=3).model(10)


@pytest.mark.parametrize(
    ("shuffle", "name", "stage"),
    [
        (UNIFORM, "a uniform shuffle", "Shuffled"),
        (IMPERFECT, "an imperfect shuffle", "Shuffled"),
        (ROUNDS, "3 separate uniform shuffles", "Shuffled"),
        (STRATA, "a uniform shuffle inside each of 2 strata", "Shuffled"),
        (NONE, "no shuffle", "Not shuffled"),
    ],
    ids=lambda each: each.kind if isinstance(each, ShuffleModel) else None,
)
def test_a_shuffle_names_itself_and_its_stage(shuffle, name, stage):
    assert shuffle.in_words == name
    assert shuffle.step[0] == stage


def test_walks_pass_reports_on_and_say_which_were_lost_or_are_dummies():
    shuffle = walks()
    assert (shuffle.in_words, shuffle.step[0]) == ("random walks", "Passed on")
    assert shuffle.released_in_words(10, 10) == "10 reports released."
    assert shuffle.released_in_words(12, 10) == "12 reports handed in by 10 people released."
    assert shuffle.released_in_words(9, 10) == "9 of 10 reports released. The others got lost on their way."


def test_several_messages_of_each_person_are_counted_as_messages():
    assert ROUNDS.released_in_words(30, 10) == "30 messages of 10 people released."


@pytest.mark.parametrize(
    ("shuffle", "columns", "said"),
    [
        (UNIFORM, "", ""),
        (NONE, "", "Nothing is shuffled: each report is released beside its sender's row number."),
        (STRATA, "", "Each report is released beside the number of its batch; the strata are these batches."),
        (STRATA, '"region"', 'Each report is released beside "region" of its stratum.'),
        (ROUNDS, "", "Each report is released beside the number of its round."),
        (IMPERFECT, "", "The reports are released in the order in which the shuffler put them out."),
    ],
    ids=lambda each: each.kind if isinstance(each, ShuffleModel) else None,
)
def test_a_shuffle_says_what_lies_beside_each_report(shuffle, columns, said):
    assert shuffle.beside_reports(columns) == said


def test_only_an_order_that_tells_something_is_said_to():
    assert UNIFORM.leaking_order == ROUNDS.leaking_order == NONE.leaking_order == ""
    for shuffle in (IMPERFECT, IMPERFECT_ROUNDS):
        assert "by a factor of at most 1.649 (gamma = 0.5)" in shuffle.leaking_order


@pytest.mark.parametrize("meaning", LabelMeaning)
def test_every_meaning_of_a_label_says_in_which_order_reports_are(meaning):
    assert meaning.order_of_reports.startswith(("in ", "each "))
