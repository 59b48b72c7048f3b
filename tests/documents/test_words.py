import math

import numpy as np
import pytest

from shuffledp.core.estimates import Estimate
from shuffledp.core.guarantees import CentralDP
from shuffledp.core.text import count_of, percent
from shuffledp.documents.estimate_document import effective_size
from shuffledp.documents.words import Guess, Loss, Scale, epsilon0_of, listed, number, short_count, shortened
from shuffledp.randomizers import TickColumns


def estimate(errors, statistic="frequency") -> Estimate:
    errors = np.array(errors)
    names = tuple(str(place) for place in range(len(errors)))
    return Estimate(statistic=statistic, target=names, estimate=errors, standard_error=errors, num_reports=10)


@pytest.mark.parametrize(
    ("value", "text"), [(10, "10"), (1000, "1,000"), (10_000, "10k"), (10**6, "1M"), (10**9, "1B"), (10**10, "10B")]
)
def test_round_numbers_are_short(value, text):
    assert short_count(value) == text


def test_numbers_have_real_minus_signs():
    assert number(-0.12345) == "\N{MINUS SIGN}0.1235"
    assert number(math.inf) == "infinite"


@pytest.mark.parametrize(
    ("relation", "texts"),
    [("", ["57.6%", "99.99%"]), ("at most", ["57.7%", "99.99%"]), ("at least", ["57.6%", "99.9%"])],
)
def test_shares_are_rounded_as_the_words_before_them_say(relation, texts):
    assert [percent(share, relation) for share in (0.576_117, 0.999_87)] == texts
    assert percent(0.576, relation) == "57.6%"  # and no further for what floats add


def test_things_are_counted_and_listed_as_people_do():
    assert count_of(1, "person", "people") == "1 person"
    assert count_of(30_718, "person", "people") == "30,718 people"
    assert [listed(list("abc")[:length]) for length in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_text_for_pictures_is_one_printable_line():
    assert shortened("a\n b\x00c\u202e", 20) == r"a\n b\x00c\u202e"
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abc defg", 5) == "abc\N{HORIZONTAL ELLIPSIS}"


def test_decimals_show_two_digits_of_the_smallest_error():
    assert Scale.of(estimate([0.0176, 0.2])).decimals == 1
    assert Scale.of(estimate([0.0024])).text(-0.00041) == "\N{MINUS SIGN}0.04%"
    assert Scale.of(estimate([0.3])).text(0.5) == "50%"
    assert Scale.of(estimate([0.0])).text(0.5) == "50.0%"
    assert Scale.of(estimate([12.0], "mean")).text(1234.5) == "1,234"


def test_what_rounds_to_zero_has_no_sign():
    assert Scale.of(estimate([0.02])).text(-0.0001) == "0.0%"


@pytest.mark.parametrize(("sampling", "both", "people"), [(1.0, 1.0, 100), (1.0, 2.0, 25), (0.0, 0.0, 100)])
def test_the_effective_size_falls_with_the_square_of_the_error(sampling, both, people):
    assert effective_size(100, sampling, both) == people


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0, 50.0, 1000.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.3])
def test_the_guess_is_the_best_one_and_rounded_up(epsilon, delta):
    best = 0.5 + (math.tanh(epsilon / 2) + 2 * delta / (1 + math.exp(min(epsilon, 700.0)))) / 2
    assert best - 1e-12 <= Guess.under(CentralDP(epsilon=epsilon, delta=delta)).share <= min(best + 0.001 + 1e-12, 1.0)


@pytest.mark.parametrize(
    ("share", "relation", "shown"),
    [
        (0.99988, "at most", "99.99%"),
        (0.7311, "at most", "73.2%"),
        (0.7311, "", "73.1%"),
        (0.00012, "", "0.01%"),
        (1.0, "at most", "100%"),
        (0.0, "", "0%"),
    ],
)
def test_a_share_is_told_apart_from_nothing_and_from_certainty(share, relation, shown):
    assert percent(share, relation) == shown


@pytest.mark.parametrize(
    ("delta", "relation", "shown", "share"),
    [
        (1e-6, "at most", "0.000001", "one in 1,000,000"),
        (3e-6, "at most", "0.000003", "one in 333,333"),
        (3e-6, "at least", "0.000003", "one in 333,334"),
        (1.2345612e-6, "at most", "0.000001235", "one in 810,004"),
        (1.2345612e-6, "at least", "0.000001234", "one in 810,005"),
        (1.2345612e-12, "at most", "1.235e-12", "one in 810,004,396,703"),
        (5e-324, "at most", "4.941e-324", "less than one in 1,000,000,000,000,000"),
        (0.0, "at most", "0", ""),
    ],
)
def test_a_remainder_is_rounded_as_the_bound_says(delta, relation, shown, share):
    loss = Loss.of(CentralDP(epsilon=1.0, delta=delta), relation)
    assert (loss.delta, loss.allowance) == (shown, share)


def test_the_loss_of_ticks_is_named_of_all_messages_and_of_one():
    """Mutant: the loss of all messages alone, which looks like the task's key and is four times it."""
    said = epsilon0_of(TickColumns(epsilon0=1.5, num_options=6, at_most=2).model).replace("\N{NO-BREAK SPACE}", " ")
    assert said == "epsilon0 = 6 of all messages of a person, 1.5 of one"
