"""Windows of a noisy sort: everybody is mixed as well as somebody they are about, and no window is there in vain."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from shuffledp.laws import noisy_sort_law
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler, worst_windows
from shufflers.enumerated import cheapest_windows, exchange_costs, is_no_better

SEEDS = range(6)


def uneven(seed):
    """Blocks of uneven sizes whose people stand at uneven distances, and the block of each rank."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 25, size=5)
    parts = [np.cumsum(draw.exponential(draw.choice([0.001, 0.05, 1.0]), size)) for size in sizes]
    return np.concatenate(parts), np.concatenate([[0], np.cumsum(sizes)]), np.repeat(np.arange(5), sizes)


def expected(at, block):
    """What windows cost each rank: twice the distance of the positions."""
    return cheapest_windows(2 * np.abs(at[:, None] - at), block)


@pytest.mark.parametrize("seed", SEEDS)
def test_everybody_is_mixed_as_well_as_somebody_whom_windows_are_about(seed):
    at, starts, block = uneven(seed)
    found, cheapest = worst_windows(at, starts), expected(at, block)
    for person in range(at.size):
        assert any(is_no_better(windows, cheapest[person]) for windows in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_cost_is_what_the_window_costs_somebody_and_not_rounded_down(seed):
    at, starts, block = uneven(seed)
    cheapest = expected(at, block)
    for windows in worst_windows(at, starts):
        assert windows.sizes[0] == 1
        assert windows.costs[0] == 0
        for size, cost in zip(windows.sizes, windows.costs, strict=True):
            of_people = cheapest[:, size]
            nearest = of_people[np.isfinite(of_people)]
            nearest = nearest[np.abs(nearest - cost).argmin()]
            assert nearest <= cost <= nearest * (1 + 2e-12)


def test_costs_are_above_those_of_the_positions_that_floats_stand_for():
    for near, far in np.random.default_rng(3).uniform([0.0, 10.0], [1.0, 1000.0], (50, 2)).tolist():
        exact = 2 * (Fraction(far) - Fraction(near))
        (windows,) = worst_windows(np.array([near, far]), np.array([0, 2]))
        assert Fraction(windows.costs[1]) >= exact
        assert Fraction(NoisySortShuffler(positions=[near, far]).swap_costs(0)[1]) >= exact * (1 - Fraction(2) ** -50)


@pytest.mark.parametrize("seed", SEEDS)
def test_windows_that_are_no_dearer_than_others_at_any_size_are_left_out(seed):
    found = worst_windows(*uneven(seed)[:2])
    costs = [dict(zip(each.sizes, each.costs, strict=True)) for each in found]
    for one, other in permutations(costs, 2):
        assert any(cost > other.get(size, math.inf) for size, cost in one.items()) or max(other) > max(one)


def test_windows_are_those_of_the_people_who_are_mixed_least_and_of_nobody_else():
    far, near, nearer = [0.0, 1.0, 3.0], [0.0, 0.1, 0.2, 0.3], [0.0, 0.01, 0.02]
    (windows,) = worst_windows(np.array([*nearer, *far, *near]), np.array([0, 3, 6, 10]))
    assert (windows.sizes, windows.people) == ((1, 2, 3), 3)
    assert windows.costs == pytest.approx((0.0, 4.0, 6.0), rel=1e-11)


def test_people_who_are_mixed_quite_differently_are_not_lumped_together():
    """Two people near each other are hidden in two, and a crowd further apart in many: neither is told the other's."""
    pair, crowd = [0.0, 0.01], np.linspace(0, 20, 401)
    windows = worst_windows(np.concatenate([pair, crowd]), np.array([0, 2, 403]))
    of_pair, of_crowd = sorted(windows, key=lambda each: each.people)
    assert (of_pair.sizes, of_pair.people, of_crowd.people) == ((1, 2), 2, 401)
    assert of_pair.costs == pytest.approx((0.0, 0.02), rel=1e-11)
    assert max(of_crowd.sizes) == 401
    assert of_crowd.costs == pytest.approx([0.1 * (size - 1) for size in of_crowd.sizes], rel=1e-11)


@pytest.mark.parametrize("positions", [[0.0, 0.2, 0.5, 1.4], [0.0, 0.0, 0.3, 0.9, 1.0]])
def test_windows_cost_no_less_than_exchanges_that_are_written_out(positions):
    """Exchanges change probabilities by more than the distance of positions, though by no more than twice of it."""
    costs = exchange_costs(noisy_sort_law(positions))
    shuffler = NoisySortShuffler(positions=positions)
    apart = np.abs(np.subtract.outer(positions, positions))
    stated = np.array([shuffler.swap_costs(person) for person in range(len(positions))])
    assert (costs <= stated + 1e-9).all()
    assert stated == pytest.approx(2 * apart, rel=1e-11)
    assert (costs > 1.2 * apart - 1e-9).all()
    for cheapest in cheapest_windows(costs):
        assert any(is_no_better(windows, cheapest) for windows in shuffler.model(len(positions)).swap_windows())


def test_a_small_block_is_a_window_as_a_whole_with_either_law():
    """Mutant: only the sizes that are tried everywhere, of which 11 and 29 are none."""
    groups = Groups.from_labels(np.repeat(np.arange(3), (11, 29, 100)))
    for kind in (NoisySortShuffler, MallowsShuffler):
        windows = kind(groups=groups, alpha=0.0).model(140).swap_windows()
        assert min(max(each.sizes) for each in windows) == 11
    costly = NoisySortShuffler(groups=groups, alpha=1.0)
    (worst,) = [each for each in costly.model(140).swap_windows() if max(each.sizes) == 11]
    at = costly.prepare().parameters
    assert worst.costs[-1] == pytest.approx(2 * (at[10] - at[0]))
