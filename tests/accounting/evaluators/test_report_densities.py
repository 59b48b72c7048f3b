"""The laws behind the bounds: their means, which way they err, and what is claimed to be the worst.

Epsilon at a delta: on the safe side, and close.
"""

import math
from itertools import permutations

import numpy as np
import pytest

from shuffledp.accounting.evaluators.report_densities import (
    LawFamily,
    ReportLaw,
    channel_law,
    discrete_laplace_blanket,
    discrete_laplace_homogeneous,
    laplace_blanket,
    laplace_homogeneous,
    two_level_blanket,
    two_level_homogeneous,
)


def channel_blanket(rows, first, second):
    return channel_law(rows[first], rows[second], rows.min(axis=0))


def channel_homogeneous(rows, first, second, others):
    return channel_law(rows[first], rows[second], rows[others])


def laplace_rows(steps: int, epsilon0: float) -> np.ndarray:
    """Discrete Laplace noise on a grid, all reports beyond an end put together."""
    share = math.exp(-epsilon0 / steps)
    rows = (1 - share) / (1 + share) * share ** np.abs(np.subtract.outer(np.arange(steps + 1.0), np.arange(steps + 1)))
    rows[:, [0, -1]] /= 1 - share
    return rows


def stop_loss(law: ReportLaw, factor: float, places: np.ndarray) -> np.ndarray:
    """E[(G - t)_+] at each t, the mass of 0 included: convex order compares these."""
    values, masses = law.first - factor * law.second, law.mass
    rest = np.maximum(-places, 0) * (1 - masses.sum())
    return np.maximum(values[:, np.newaxis] - places, 0).T @ masses + rest


LAWS = [
    two_level_blanket(epsilon0=1.5, share=0.2, overlap=0.05),
    *two_level_homogeneous(epsilon0=1.5, share=0.2, overlap=0.05, triple=0.01),
    laplace_blanket(epsilon0=1.5, cells=30),
    laplace_homogeneous(epsilon0=1.5, cells=30),
    *(discrete_laplace_blanket(epsilon0=1.5, steps=steps, cells=20) for steps in (1, 2, 5, 40, 1001)),
    *(discrete_laplace_homogeneous(epsilon0=1.5, steps=steps, cells=20) for steps in (1, 2, 5, 40, 1001)),
    channel_blanket(laplace_rows(4, 1.5), 0, 3),
    channel_homogeneous(laplace_rows(4, 1.5), 0, 3, 2),
]


@pytest.mark.parametrize("law", LAWS)
def test_both_inputs_have_laws(law):
    assert law.mass @ law.first == pytest.approx(1, abs=1e-13)
    assert law.mass @ law.second == pytest.approx(1, abs=1e-13)
    assert (law.mass >= 0).all()
    assert law.mass.sum() <= 1 + 1e-13


@pytest.mark.parametrize("law", [law for law in LAWS if law.mass.sum() < 1 - 1e-6])
def test_blankets_are_the_same_in_both_directions_for_symmetric_randomizers(law):
    if law is LAWS[-2]:
        pytest.skip("inputs 0 and 3 of five are not symmetric")
    places = np.linspace(-10, 5, 301)
    assert stop_loss(law, 1.2, places) == pytest.approx(stop_loss(law.swapped, 1.2, places), abs=1e-13)


@pytest.mark.parametrize("size", [2, 3, 10])
def test_response_is_the_two_level_law_without_overlap(size):
    rows = np.full((size, size), 1.0) + np.eye(size) * (math.exp(1.5) - 1)
    rows /= rows.sum(axis=1, keepdims=True)
    places = np.linspace(-10, 5, 301)
    blanket = two_level_blanket(epsilon0=1.5, share=1 / size, overlap=0.0)
    assert stop_loss(blanket, 1.2, places) == pytest.approx(stop_loss(channel_blanket(rows, 0, 1), 1.2, places))
    others = two_level_homogeneous(epsilon0=1.5, share=1 / size, overlap=0.0, triple=0.0 if size > 2 else None)
    for law, inputs in zip(others, [(0, 1, 0), (0, 1, 1), (0, 1, 2)], strict=False):
        exact = channel_homogeneous(rows, *inputs)
        for one, other in ((law, exact), (law.swapped, exact.swapped)) if inputs[2] == 2 else ():
            assert stop_loss(one, 1.2, places) == pytest.approx(stop_loss(other, 1.2, places))
    equal = {tuple(np.round(stop_loss(law, 1.2, places), 9)) for law in others[:2]}
    exact = {tuple(np.round(stop_loss(channel_homogeneous(rows, 0, 1, z), 1.2, places), 9)) for z in (0, 1)}
    assert equal == exact


def test_less_overlap_is_worse_in_convex_order():
    generator, places = np.random.default_rng(0), np.linspace(-60, 30, 901)
    for _ in range(200):
        epsilon0, share = generator.uniform(0.1, 4), generator.uniform(0.01, 0.9)
        factor = math.exp(generator.uniform(0, 1) * epsilon0)
        low, high = np.sort(generator.uniform(max(0.0, 2 * share - 1), share, size=2))
        worse, better = (two_level_blanket(epsilon0=epsilon0, share=share, overlap=o) for o in (low, high))
        assert (stop_loss(better, factor, places) <= stop_loss(worse, factor, places) + 1e-12).all()


def test_the_ends_of_the_range_are_the_worst_inputs_under_laplace_noise():
    generator, sharp = np.random.default_rng(0), 0
    for _ in range(3000):
        steps, epsilon0 = int(generator.integers(2, 12)), generator.uniform(0.05, 6)
        rows = laplace_rows(steps, epsilon0)
        least = rows.min(axis=0)
        factor = math.exp(generator.uniform(-1.3, 1.3) * epsilon0)
        place = math.exp(epsilon0 + generator.uniform(-6, 1))
        found = [
            np.maximum(rows[first] - factor * rows[second] - place * least, 0).sum()
            for first, second in [(0, steps), *permutations(range(steps + 1), 2)]
        ]
        assert max(found) <= found[0] + 1e-14
        sharp += sorted(set(found))[-2:][0] < found[0] * 0.99 and found[0] > 0
    assert sharp > 300  # the others are often clearly below


@pytest.mark.parametrize("epsilon0", [0.3, 2.0, 6.0])
def test_fewer_cells_err_upward_for_blankets_and_downward_for_data_sets(epsilon0):
    places, factor = np.linspace(-30, 30, 601) * math.exp(epsilon0 / 2), math.exp(epsilon0 / 3)
    coarse, fine = (stop_loss(laplace_blanket(epsilon0=epsilon0, cells=cells), factor, places) for cells in (5, 500))
    assert (coarse >= fine * (1 - 1e-13) - 1e-13).all()
    assert (coarse > fine * 1.0001).any()
    few, many = (stop_loss(laplace_homogeneous(epsilon0=epsilon0, cells=cells), factor, places) for cells in (5, 500))
    assert (few <= many * (1 + 1e-13) + 1e-13).all()
    assert (few < many * 0.9999).any()


@pytest.mark.parametrize("steps", [40, 41, 1000])
def test_fewer_blocks_of_a_grid_err_the_same_way(steps):
    places, factor = np.linspace(-20, 20, 401), 1.3
    laws = [discrete_laplace_blanket(epsilon0=2.0, steps=steps, cells=cells) for cells in (5, 2000)]
    coarse, fine = (stop_loss(law, factor, places) for law in laws)
    assert (coarse >= fine * (1 - 1e-13) - 1e-13).all()
    laws = [discrete_laplace_homogeneous(epsilon0=2.0, steps=steps, cells=cells) for cells in (5, 2000)]
    few, many = (stop_loss(law, factor, places) for law in laws)
    assert (few <= many * (1 + 1e-13) + 1e-13).all()


@pytest.mark.parametrize("steps", [1, 2, 7, 8])
def test_laplace_on_a_grid_is_its_channel(steps):
    rows, places = laplace_rows(steps, 1.7), np.linspace(-20, 20, 401)
    blanket = discrete_laplace_blanket(epsilon0=1.7, steps=steps, cells=50)
    data_set = discrete_laplace_homogeneous(epsilon0=1.7, steps=steps, cells=50)
    exact = channel_blanket(rows, 0, steps), channel_homogeneous(rows, 0, steps, 0)
    assert stop_loss(blanket, 1.3, places) == pytest.approx(stop_loss(exact[0], 1.3, places), abs=1e-13)
    assert stop_loss(data_set, 1.3, places) == pytest.approx(stop_loss(exact[1], 1.3, places), abs=1e-13)


def test_fisher_constants_are_those_of_closed_forms():
    ratio = math.e**2
    assert two_level_blanket(epsilon0=2.0, share=1 / 2, overlap=0.0).fisher == pytest.approx(
        2 * (ratio - 1) ** 2 / (ratio + 1)
    )
    assert two_level_blanket(epsilon0=2.0, share=1 / 10, overlap=0.0).fisher == pytest.approx(
        2 * (ratio - 1) ** 2 / (ratio + 9)
    )
    laws = two_level_homogeneous(epsilon0=2.0, share=1 / 2, overlap=0.0)
    assert laws[0].fisher == pytest.approx((ratio - 1) ** 2 / ratio)
    fisher = 4 / 3 * ratio - 4 + 8 / 3 * math.exp(-1.0)
    assert laplace_blanket(epsilon0=2.0, cells=1000).fisher == pytest.approx(fisher, rel=1e-5)
    exact = 2 / 3 * ratio + 1 / 3 / ratio**2 - 1
    assert laplace_homogeneous(epsilon0=2.0, cells=1000).fisher == pytest.approx(exact, rel=1e-5)


def test_reports_that_only_one_input_gives_are_counted_in_full():
    rows = np.array([[0.5, 0.4, 0.1], [0.5, 0.5, 0.0], [0.4, 0.6, 0.0]])
    law = channel_blanket(rows, 0, 1)
    assert law.alone_first.tolist() == [0.1]
    assert law.fisher == math.inf
    assert law.deltas(0.5, 10**6)[0] == pytest.approx(0.1)
    assert law.swapped.deltas(0.5, 10**6)[1] < 1e-9


def blanket(epsilon0: float, size: int) -> ReportLaw:
    return two_level_blanket(epsilon0=epsilon0, share=1 / size, overlap=0.0)


@pytest.mark.parametrize("users", [50, 1000, 10**7])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-100])
def test_epsilon_is_on_the_safe_side_and_close(users, delta):
    family = LawFamily((blanket(2.0, 5), blanket(2.0, 50)), users, 2.0)
    above, below = family.epsilon_above(delta), family.epsilon_below(delta)
    assert 0 <= below <= above <= 2.0
    if above == 0:
        assert family.upper(0.0) <= delta
        return
    if above < 2.0:
        assert family.upper(above) <= delta
        assert family.upper(above * (1 - 1e-4)) > delta
    if below > 0:
        assert family.lower(below) > delta


def test_the_worst_of_several_laws_counts():
    one, other = blanket(2.0, 5), blanket(1.0, 5)
    alone, both = (LawFamily(laws, 1000, 2.0).epsilon_above(1e-6) for laws in ((one,), (other, one)))
    assert both == alone
    assert LawFamily((other,), 1000, 1.0).epsilon_above(1e-6) < alone
    assert LawFamily((other, one), 1000).upper(0.1) == LawFamily((one,), 1000).upper(0.1)
    assert LawFamily((other, one), 1000).lower(0.1) == LawFamily((one,), 1000).lower(0.1)


def test_where_small_data_sets_change_places_the_worst_is_found():
    laws = two_level_homogeneous(epsilon0=4.0, share=1 / 3, overlap=0.0, triple=0.0)
    each = [LawFamily((law,), 100, 4.0).epsilon_below(1e-6) for law in laws]
    assert LawFamily(laws, 100, 4.0).epsilon_below(1e-6) == pytest.approx(max(each), rel=1e-4)
    assert each[2] < max(each)


def test_without_a_limit_reports_that_stand_alone_leave_no_epsilon():
    law = blanket(1.0, 5)
    revealing = ReportLaw(law.first, law.second, 0.9 * law.mass, law.first[:1] * 0 + 0.1, law.first[:1] * 0)
    assert LawFamily((revealing,), 1000).epsilon_above(1e-6) == math.inf
    assert LawFamily((revealing,), 1000).epsilon_above(0.11) < 1


def test_an_infinite_tolerance_is_one_pass():
    family = LawFamily((blanket(2.0, 5),), 1000, 2.0)
    assert family.lower(0.3, tolerance=math.inf) <= family.lower(0.3) <= family.upper(0.3)
    assert family.upper(0.3) <= family.upper(0.3, tolerance=math.inf)
