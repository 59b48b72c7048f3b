"""Laplace delays that are cut: exact losses of exchanges among two to four people, and what a buffer lets out."""

import itertools
import math
import runpy
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.shares import LaplaceDelays
from shuffledp.testing import SeededSource
from statistical.thresholds import assert_fits, assert_rejects

EXAMPLE = Path(__file__).parents[3] / "examples" / "delay_shuffle.py"
SMALL = LaplaceDelays(skew=1, scale=2, longest=3)
CASES = [(2, SMALL), (3, SMALL), (2, LaplaceDelays(skew=3, scale=2, longest=4))]
DEEP_CASES = [
    (4, SMALL),
    (3, LaplaceDelays(skew=2, scale=3, longest=4)),
    (3, LaplaceDelays(skew=3, scale=2, longest=3)),
    (2, LaplaceDelays(skew=7, scale=6, longest=30)),
]


def drawn_again(delays):
    """Chances of the offsets from -longest to longest."""
    ticks = np.arange(-delays.longest, delays.longest + 1)
    weights = np.exp(-np.abs(ticks) / delays.scale)
    return dict(zip(ticks.tolist(), (weights / weights.sum()).tolist(), strict=True))


def cut_below(delays, highest=60):
    """Chances of offsets that are not drawn again but cut at -longest; nothing is cut above but for a tail of 1e-13."""
    law, ratio = defaultdict(float), math.exp(-1 / delays.scale)
    for tick in range(-highest, highest + 1):
        law[max(tick, -delays.longest)] += (1 - ratio) / (1 + ratio) * ratio ** abs(tick)
    return law


def ticks_seen(times, law):
    """Law of the ticks in which the items of people come in whose reports would come at these times without offsets."""
    seen = {(): 1.0}
    for time in times:
        seen = {(*key, time + x): chance * p for key, chance in seen.items() for x, p in law.items()}
    return seen


def orders_seen(ticks):
    """Law of the order, ties by lot."""
    seen = defaultdict(float)
    for came, chance in ticks.items():
        items = sorted(range(len(came)), key=came.__getitem__)
        ties = [list(group) for _, group in itertools.groupby(items, came.__getitem__)]
        several = list(itertools.product(*map(itertools.permutations, ties)))
        for each in several:
            seen[tuple(itertools.chain(*each))] += chance / len(several)
    return seen


def orders_after_a_stop(ticks):
    """Law of the order of the reports that come at the hour or later, where a buffer has lost the others."""
    seen = defaultdict(float)
    for came, chance in ticks.items():
        items = [item for item, tick in enumerate(came) if tick >= 0]
        for order, share in orders_seen({tuple(came[item] for item in items): chance}).items():
            seen[tuple(items[place] for place in order)] += share
    return seen


def remainder(one, other, epsilon):
    return math.fsum(max(0.0, chance - math.exp(epsilon) * other.get(key, 0.0)) for key, chance in one.items())


def worst_remainder(num_users, delays, epsilon, law, seen=lambda ticks: ticks):
    """Largest remainder of any exchange of two reports, for all times that the promise allows."""
    worst = 0.0
    for times in itertools.combinations_with_replacement(range(delays.skew + 1), num_users):
        before = seen(ticks_seen(times, law))
        for one, other in itertools.combinations(range(num_users), 2):
            exchanged = list(times)
            exchanged[one], exchanged[other] = times[other], times[one]
            after = seen(ticks_seen(exchanged, law))
            worst = max(worst, remainder(before, after, epsilon), remainder(after, before, epsilon))
    return worst


def hold_the_promise(num_users, delays):
    """The remainder is met exactly where ticks are seen, and neither half of it nor half of gamma would do."""
    gamma, remains, law = delays.imperfection, delays.remainder, drawn_again(delays)
    worst = worst_remainder(num_users, delays, gamma, law)
    assert worst == pytest.approx(remains, rel=1e-9)
    assert worst > remains / 2
    assert worst_remainder(num_users, delays, gamma / 2, law) > 1.1 * remains
    for seen in (orders_seen, orders_after_a_stop):
        assert worst_remainder(num_users, delays, gamma, law, seen) <= remains * (1 + 1e-9)


@pytest.mark.parametrize(("num_users", "delays"), CASES)
def test_an_exchange_shows_exactly_what_is_promised_if_ticks_are_seen_and_else_no_more(num_users, delays):
    hold_the_promise(num_users, delays)


@pytest.mark.deep
@pytest.mark.parametrize(("num_users", "delays"), DEEP_CASES)
def test_an_exchange_among_more_people_shows_what_is_promised(num_users, delays):
    hold_the_promise(num_users, delays)


def test_offsets_that_are_cut_in_place_of_drawn_again_lose_more_and_no_more_than_is_proven():
    gamma, share = 2 * SMALL.skew / SMALL.scale, 1 / (1 + math.exp(-1 / SMALL.scale))
    lost = [share * math.exp(-ticks / SMALL.scale) for ticks in (SMALL.longest, SMALL.longest + 1 - SMALL.skew)]
    proven = 1 - (1 - lost[0]) * (1 - lost[1])
    worst = worst_remainder(2, SMALL, gamma, cut_below(SMALL))
    assert SMALL.remainder < proven / 2 < worst <= proven
    union = (1 + math.exp(gamma)) * (1 - (1 - lost[0]) ** 2)
    assert proven < union


def test_without_a_skew_the_order_is_uniform():
    delays = LaplaceDelays(skew=0, scale=2, longest=3)
    assert (delays.imperfection, delays.remainder) == (0.0, 0.0)
    assert list(orders_seen(ticks_seen([0] * 3, drawn_again(delays))).values()) == pytest.approx([1 / 6] * 6)


def test_offsets_are_laplace_numbers_within_the_longest():
    drawn = SMALL.draw(20_000, source=SeededSource(3))
    counts = np.bincount(drawn + SMALL.longest, minlength=7)
    assert_fits(counts, list(drawn_again(SMALL).values()))
    assert_rejects(counts, list(drawn_again(LaplaceDelays(skew=1, scale=3, longest=3)).values()))


def test_gamma_is_never_rounded_to_less():
    for skew, scale in ((1, 3), (2, 3), (1, 49), (7, 10)):
        gamma = LaplaceDelays(skew=skew, scale=scale, longest=scale + skew).imperfection
        assert Fraction(2 * skew, scale) <= Fraction(gamma) <= Fraction(2 * skew, scale) * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"skew": -1}, "skew must be"),
        ({"skew": 0.5}, "skew must be"),
        ({"scale": 0}, "scale must be"),
        ({"scale": 2**40 + 1, "longest": 2**41}, "scale must be 2"),
        ({"longest": 1}, "longest must be at least skew and scale"),
        ({"skew": 4}, "longest must be at least skew and scale"),
        ({"longest": 1401}, "at most 700"),
    ],
)
def test_what_promises_nothing_is_refused(broken, said):
    with pytest.raises(InvalidParameterError, match=said):
        LaplaceDelays(**{"skew": 1, "scale": 2, "longest": 3} | broken)


# ---- the buffer of the example --------------------------------------------------------------------------------------


def test_a_buffer_lets_nothing_out_before_all_can_have_come_and_then_the_order_with_ties_by_lot():
    example = runpy.run_path(str(EXAMPLE))
    opens, closes, orders = example["OPENS"], example["CLOSES"], set()
    for _ in range(20):
        buffer = example["Buffer"]()
        for now, report in ((opens - 1, 9), (closes, 4), (opens, 1), (opens, 2), (opens, 3), (closes + 1, 9)):
            buffer.take(now, report)
        assert buffer.refused == 2
        assert buffer.release(closes) == []
        orders.add(tuple(buffer.release(closes + 1)))
    assert len(orders) > 1
    assert {(sorted(order[:3]) == [1, 2, 3], order[3]) for order in orders} == {(True, 4)}
