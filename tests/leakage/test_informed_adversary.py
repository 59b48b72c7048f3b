"""Somebody who knows all other values: against the definition, for any channel, and for the worst others."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from leakage.brute import bayes, known_views, response, vulnerability
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.statement_terms import Kind
from shuffledp.leakage import informed_adversary as strong
from shuffledp.leakage import shuffled_vulnerability, strong_vulnerability, worst_strong_vulnerability
from shuffledp.leakage.informed_adversary import data_sets
from shuffledp.testing import SeededSource

HOLES = np.array(
    [
        [Fraction(1, 2), Fraction(1, 2), Fraction(0)],
        [Fraction(0), Fraction(1, 2), Fraction(1, 2)],
        [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)],
    ]
)
CASES = [
    (response(2, Fraction(4, 5)), [Fraction(1, 2), Fraction(1, 2)], bayes(2)),
    (
        response(2, Fraction(1, 5)),
        [Fraction(1, 2), Fraction(1, 2)],
        bayes(2),
    ),  # p < 1/2: the closed form would be wrong
    (response(3, Fraction(1, 6)), [Fraction(1, 3)] * 3, bayes(3)),
    (response(3, Fraction(3, 4)), [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [[1, 0, 0], [0, 2, 1]]),
    (HOLES, [Fraction(1, 3)] * 3, bayes(3)),
]


def near(value):
    return pytest.approx(float(value), rel=1e-12, abs=0)


@pytest.mark.parametrize("case", CASES)
def test_it_is_what_the_definition_says_whatever_the_others_hold(case):
    matrix, prior, gain = case
    channel, size = Channel(matrix.astype(float)), len(matrix)
    for people in (0, 1, 2, 3):
        worst = 0.0
        for others in itertools.combinations_with_replacement(range(size), people):
            expected = vulnerability(known_views(matrix, others), prior, gain)
            counts = np.bincount(np.array(others, dtype=np.int64), minlength=size)
            found = strong_vulnerability([float(p) for p in prior], channel, gain, others=counts)
            assert found.value == near(expected)
            assert found.prior == near(max(sum(p * g for p, g in zip(prior, row, strict=True)) for row in gain))
            worst = max(worst, float(expected))
        found = worst_strong_vulnerability([float(p) for p in prior], channel, gain, num_users=people + 1)
        assert found.value == near(worst)
        assert found.kind is Kind.EXACT


@pytest.mark.parametrize("rare", [4e-322, 1e-302, 1e-290, 1e-150, 1e-100])
def test_reports_that_only_the_target_sends_but_for_a_miracle_give_it_away(rare):
    """In fractions, the others' miracle changes nothing above 1e-97."""
    both = Channel([[1.0, rare], [rare, 1.0]])
    one = Channel([[1 - rare, rare], [0.5, 0.5]])
    for others in ([5, 0], [1000, 0]):
        assert strong_vulnerability(None, both, others=others).value == near(1.0)
        found = strong_vulnerability([0.9, 0.1], one, others=others)
        assert (found.kind, found.value) == (Kind.EXACT, near(0.95))
    assert worst_strong_vulnerability([0.9, 0.1], one, num_users=4).value == near(0.95)


@pytest.mark.parametrize("method", ["auto", "enumeration"])
def test_nothing_tells_more_than_one_report_by_itself(method):
    for rare in (5e-324, 1e-305, 1e-141, 1e-139, 1e-20):
        channel = Channel([[1 - rare, rare], [0.5, 0.5]])
        for others in ([3, 0], [0, 3], [2, 1]):
            found = strong_vulnerability([0.3, 0.7], channel, others=others, method=method)
            alone = strong_vulnerability([0.3, 0.7], channel, others=[0, 0])
            assert found.lower <= found.value <= found.upper <= alone.value


@pytest.mark.parametrize("ask", [worst_strong_vulnerability, shuffled_vulnerability])
def test_more_people_than_floats_count_are_refused_at_once(ask):
    for people in (10**10 + 1, 10**12, 10**18, 10**30):
        with pytest.raises(InvalidParameterError, match=r"num_users must be at most 10,000,000,000"):
            ask(None, Channel(response(2, 0.7)), num_users=people)
    with pytest.raises(InvalidParameterError, match=r"num_users must be at most 10,000,000,000"):
        strong_vulnerability(None, Channel(response(2, 0.7)), others=[10**10, 0])


def test_the_printed_formula_fails_below_one_over_k():
    found = strong_vulnerability(None, Channel(response(2, 0.2)), others=[0, 0])
    assert found.value == near(0.8)


def test_the_formula_of_the_paper_for_three_values():
    truth, people = 0.6, 12
    lie = (1 - truth) / 2
    for counts in ((11, 0, 0), (5, 4, 2)):
        values = [value for value, count in enumerate(counts) for _ in range(count)]
        law = {(): 1.0}
        for value in values:
            more = {}
            for key, chance in law.items():
                for report in range(3):
                    new = tuple(sorted((*key, report)))
                    more[new] = more.get(new, 0.0) + chance * (truth if report == value else lie)
            law = more
        views = {}
        for key, chance in law.items():
            for report in range(3):
                views.setdefault(tuple(sorted((*key, report))), {})[report] = chance
        total = sum(max(each.values()) for each in views.values())
        found = strong_vulnerability(None, Channel(response(3, truth)), others=counts)
        assert found.value == near(((truth - lie) * total + 3 * lie) / 3)
    assert people == sum(counts) + 1


def test_mixed_values_can_tell_more_than_equal_ones():
    channel = Channel(response(2, 0.8))
    equal, mixed = (strong_vulnerability(None, channel, others=others).value for others in ([60, 0], [30, 30]))
    assert mixed > equal
    assert worst_strong_vulnerability(None, channel, num_users=61).value == near(mixed)


def test_for_many_people_the_worst_is_a_lower_bound_with_an_upper_one():
    found = worst_strong_vulnerability(None, Channel(response(3, 0.6)), num_users=400)
    assert found.kind is Kind.LOWER_BOUND
    assert found.value == near(strong_vulnerability(None, Channel(response(3, 0.6)), others=[0, 399, 0]).value)
    assert found.lower == found.value < found.upper < 0.4
    mixed = strong_vulnerability(None, Channel(response(3, 0.6)), others=[100, 50, 49]).value
    assert mixed < found.upper


def test_all_data_sets_are_listed_once():
    sets = list(data_sets(3, 4))
    assert len(set(sets)) == len(sets) == 15
    assert all(sum(each) == 4 and min(each) >= 0 for each in sets)
    assert list(data_sets(1, 4)) == [(4,)]
    assert list(data_sets(2, 0)) == [(0, 0)]


@pytest.mark.parametrize("others", [[1, 2, 3], [-1, 2], [0.5, 1.5], [1.0, 2.0], 3, "ab", [None, 1], [[1], 2]])
def test_others_that_are_no_counts_are_refused(others):
    with pytest.raises(InvalidParameterError, match=r"others must be (2 whole numbers|numbers)"):
        strong_vulnerability(None, Channel(response(2, 0.7)), others=others)


def test_too_many_mixed_values_are_bounded_as_if_fewer_were_hidden():
    channel = Channel(response(5, 0.7))
    found = strong_vulnerability(None, channel, others=[100, 90, 0, 0, 0])
    assert (found.kind, found.lower) == (Kind.UPPER_BOUND, found.prior)
    assert found.value == strong_vulnerability(None, channel, others=[100, 0, 0, 0, 0]).value
    assert "as if all others' reports were known" in found.note


@pytest.mark.parametrize("others", [[1, 3], [2, 2], [5, 1]])
def test_whoever_knows_more_reports_guesses_better(others, monkeypatch):
    for channel, prior in (
        (Channel(response(2, 0.7)), None),
        (Channel([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]]), [0.4, 0.6]),
    ):
        exact = strong_vulnerability(prior, channel, others=others)
        with monkeypatch.context() as patched:
            patched.setattr(strong, "_MOST_CELLS", 0)
            bound = strong_vulnerability(prior, channel, others=others)
        assert exact.kind is Kind.EXACT
        assert bound.kind is Kind.UPPER_BOUND
        assert exact.value < bound.value


@pytest.mark.parametrize(("prior", "truth"), [(None, 0.7), ([0.5, 0.3, 0.2], 0.6)])
def test_the_worst_values_lie_between_others_who_agree_and_a_share_of_them(prior, truth, monkeypatch):
    exact = worst_strong_vulnerability(prior, Channel(response(3, truth)), num_users=8)
    monkeypatch.setattr(strong, "_MOST_SEARCH", 0)
    bound = worst_strong_vulnerability(prior, Channel(response(3, truth)), num_users=8)
    assert (exact.kind, bound.kind) == (Kind.EXACT, Kind.LOWER_BOUND)
    assert (
        bound.lower
        <= exact.value
        <= bound.upper
        < strong_vulnerability(prior, Channel(response(3, truth)), others=[0] * 3).value
    )


def split(truth, kinds):
    """Randomized response of which each answer has several names, that say hardly anything but are not quite alike."""
    twist = 1e-9 * (np.arange(kinds) - kinds // 2)
    first = np.concatenate([truth / kinds + twist, np.full(kinds, (1 - truth) / kinds)])
    matrix = np.array([first, np.roll(first, kinds)])
    return Channel(matrix / matrix.sum(axis=1, keepdims=True))


def test_others_who_all_hold_one_value_are_no_upper_bound_however_they_are_evaluated():
    mixed = strong_vulnerability(None, Channel(response(2, 0.9)), others=[150, 149]).value  # the same but for 1e-8
    found = worst_strong_vulnerability(None, split(0.9, 5), num_users=300)
    assert (found.kind, found.method) == (Kind.LOWER_BOUND, "convolution")
    assert found.value == found.lower < mixed < found.upper < 0.6
    sampled = worst_strong_vulnerability(
        None, split(0.9, 5), num_users=300, method="monte-carlo", source=SeededSource(3)
    )
    assert sampled.kind is Kind.ESTIMATE
    assert sampled.lower < mixed < sampled.upper
    assert "the interval misses the truth with probability 0.002 at most" in sampled.hypotheses
    assert any("all others hold the same value" in each for each in sampled.hypotheses)


def test_where_all_values_are_tried_the_largest_bound_and_the_largest_estimate_count():
    exact = worst_strong_vulnerability(None, Channel(response(2, 0.8)), num_users=4).value
    bound = worst_strong_vulnerability(None, Channel(response(2, 0.8)), num_users=4, method="convolution")
    assert bound.lower - 1e-12 <= exact <= bound.upper + 1e-12
    sampled = worst_strong_vulnerability(
        None, Channel(response(2, 0.8)), num_users=4, method="monte-carlo", source=SeededSource(3)
    )
    assert sampled.kind is Kind.ESTIMATE
    assert sampled.lower <= exact <= sampled.upper


@pytest.mark.parametrize(("size", "people"), [(200, 1000), (60, 10**6)])
def test_what_would_take_forever_is_told_and_not_computed(size, people):
    from shuffledp.leakage.informed_adversary import all_feasible
    from shuffledp.randomizers import model_of_kind

    assert not all_feasible(model_of_kind("k-rr", epsilon0=1.0, domain_size=size).channel(), people)
