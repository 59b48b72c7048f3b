"""Rounding for people: a shown bound is still a bound."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.core.text import (
    count_of,
    factor_in_digits,
    has_controls,
    in_digits,
    plural,
    printable,
    said_of,
    shown_relation,
)


def read(shown: str) -> float:
    return float(shown.replace(",", ""))


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(1, 6))
def test_at_most_is_never_shown_too_small_and_at_least_never_too_large(value, digits):
    assert read(in_digits(value, "at most", digits=digits)) >= value * (1 - 1e-15)
    assert read(in_digits(value, "at least", digits=digits)) <= value * (1 + 1e-15)


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_rounding_changes_the_last_digit_by_at_most_one(value):
    up, down = (read(in_digits(value, relation, digits=4)) for relation in ("at most", "at least"))
    assert up - down <= 1.001e-3 * value * 1.01


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(1, 6))
def test_an_exact_loss_is_never_shown_too_small_and_called_exact_where_no_digit_is_lost(value, digits):
    shown = in_digits(value, "exactly", digits=digits)
    assert read(shown) >= value * (1 - 1e-9)
    assert shown_relation(value, shown, "exactly") == ("exactly" if abs(read(shown) / value - 1) <= 1e-9 else "at most")


def test_the_relation_stands_before_the_number():
    assert [said_of(value, "exactly") for value in (1.5, 0.10151, 1 + 4e-10)] == [
        "exactly 1.5",
        "at most 0.1016",
        "exactly 1",
    ]
    assert said_of(0.10159, "at least") == "at least 0.1015"
    assert said_of(math.inf, "exactly") == "exactly inf"


def test_a_number_of_few_digits_is_shown_as_it_is():
    shown = [in_digits(value, "at most") for value in (2.0, 0.5, 0.0, math.inf)]
    assert shown == ["2", "0.5", "0", "inf"]


@pytest.mark.parametrize(
    ("epsilon", "at_most", "at_least"),
    [
        (0.02152, "1.022", "1.021"),
        (2.0, "7.39", "7.38"),
        (0.0, "1", "1"),
        (9.0, "8,104", "8,103"),
        (1e-4, "1 + 0.00011", "1 + 0.0001"),
    ],
)
def test_a_factor_is_rounded_in_the_direction_of_its_bound(epsilon, at_most, at_least):
    assert factor_in_digits(epsilon, "at most") == at_most
    assert factor_in_digits(epsilon, "at least") == at_least


def test_control_characters_are_shown_as_escapes_and_other_letters_as_they_are():
    assert (
        printable("a\n b\x00\u202ec \N{FAMILY}\u200d\xa0\ufffe\ud800")
        == "a\\n b\\x00\\u202ec \N{FAMILY}\u200d\xa0\\ufffe\\ud800"
    )
    assert printable("a\n\tb\x1b", lines=True) == "a\n\tb\\x1b"
    assert has_controls("a\tb")
    assert not has_controls(printable("a\tb"))


def test_only_one_thing_is_singular():
    assert [count_of(number, "place") for number in (0, 1, 2000)] == ["0 places", "1 place", "2,000 places"]
    assert [plural(number, "is", "are") for number in (1, 1.5)] == ["is", "are"]
