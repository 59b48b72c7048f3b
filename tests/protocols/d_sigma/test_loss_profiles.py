"""Loss profiles bound the exact difference of two orders, for every exchange in a group and any number of releases."""

import itertools
import math

import numpy as np
import pytest

from shuffledp import Groups, MallowsShuffler, NoisySortShuffler
from shuffledp.core.errors import InvalidParameterError
from shuffledp.laws import mallows_law, noisy_sort_law
from shuffledp.laws.moments import kendall_inversions
from shuffledp.protocols.d_sigma.laws.loss_profiles import WorstProfile, size_classes
from shuffledp.protocols.d_sigma.laws.mallows_profiles import kendall_profile
from shuffledp.protocols.d_sigma.laws.sort_profiles import dominating_distances, laplace_profile
from shuffledp.protocols.d_sigma.shufflers.group_profiles import (
    KendallScales,
    known_by_most,
    laplace_scales,
    mean_loss_within,
    moves_of,
)

ALPHAS = (0.0, 0.3, 1.0, 2.5)


def exact_deltas(law, ranks, *, releases=1, alphas=ALPHAS, reversal_only=False):
    """Largest hockey-stick divergence, at each alpha, over all exchanges of the labels inside the ranks."""
    keys = list(law)
    base = np.array([law[key] for key in keys])
    place = {key: number for number, key in enumerate(keys)}
    found = np.zeros(len(alphas))
    for image in [tuple(reversed(ranks))] if reversal_only else itertools.permutations(ranks):
        moved = dict(zip(ranks, image, strict=True))
        other = base[[place[tuple(moved.get(item, item) for item in key)] for key in keys]]
        ours, theirs = base, other
        for _ in range(releases - 1):
            ours, theirs = np.outer(ours, base).ravel(), np.outer(theirs, other).ravel()
        here = [np.maximum(ours - math.exp(alpha) * theirs, 0).sum() for alpha in alphas]
        found = np.maximum(found, here)
    return found


def rank_sets(people):
    return [ranks for size in range(2, people + 1) for ranks in itertools.combinations(range(people), size)]


def moves(at, ranks):
    there = np.asarray(at)[list(ranks)]
    return (there[::-1] - there)[: len(ranks) // 2]


@pytest.mark.parametrize(
    "people", [4, pytest.param(5, marks=pytest.mark.deep), pytest.param(6, marks=pytest.mark.deep)]
)
@pytest.mark.parametrize("theta", [0.2, 0.7])
def test_a_window_bounds_every_exchange_inside_kendalls_mallows(people, theta):
    law = mallows_law(people, theta)
    for ranks in rank_sets(people):
        window = ranks[-1] - ranks[0] + 1
        exact = exact_deltas(law, ranks, reversal_only=people > 5)
        upper = np.array([kendall_profile(window, theta).delta(alpha) for alpha in ALPHAS])
        assert (exact <= upper + 1e-12).all()
        if window == len(ranks):
            assert exact == pytest.approx(upper, abs=1e-9)


@pytest.mark.parametrize("at", [(0.0, 0.4, 0.9, 2.0), pytest.param((0, 0.1, 0.1, 1.5, 1.8), marks=pytest.mark.deep)])
def test_moves_bound_every_exchange_inside_a_laplace_sort(at):
    law = noisy_sort_law(at)
    for ranks in rank_sets(len(at)):
        exact = exact_deltas(law, ranks)
        upper = [laplace_profile(moves(at, ranks)).delta(alpha) for alpha in ALPHAS]
        assert (exact <= np.array(upper) + 1e-12).all()


def test_the_profile_of_a_laplace_sort_is_close_to_the_difference_of_orders_far_apart():
    """Positions far apart tell the keys nearly: then the order is as good as the keys."""
    at = (0.0, 3.0, 6.0, 9.0)
    exact = exact_deltas(noisy_sort_law(at), (0, 3), reversal_only=True)
    upper = np.array([laplace_profile(moves(at, (0, 3))).delta(alpha) for alpha in ALPHAS])
    assert (exact <= upper).all()
    assert (exact >= 0.9 * upper).all()


@pytest.mark.parametrize("ranks", [(0, 1, 2), (0, 2), (0, 1)])
def test_two_releases_of_one_group_add_up_as_enumerated(ranks):
    window = ranks[-1] - ranks[0] + 1
    exact = exact_deltas(mallows_law(3, 0.5), ranks, releases=2)
    upper = np.array([kendall_profile(window, 0.5, releases=2).delta(alpha) for alpha in ALPHAS])
    assert (exact <= upper + 1e-12).all()
    if window == len(ranks):
        assert exact == pytest.approx(upper, abs=1e-9)
    at = (0.0, 0.5, 0.8)
    exact = exact_deltas(noisy_sort_law(at), ranks, releases=2)
    upper = np.array([laplace_profile(moves(at, ranks), releases=2).delta(alpha) for alpha in ALPHAS])
    assert (exact <= upper + 1e-12).all()


def test_a_coarser_grid_errs_upward_and_vanishes_in_the_limit():
    shifts = [0.3143, 0.1729, 0.0511]
    fine = laplace_profile(shifts, steps=20_000)
    for steps in (50, 500, 5000):
        found = laplace_profile(shifts, steps=steps)
        for alpha in ALPHAS[:3]:
            assert fine.delta(alpha) - 1e-4 <= found.delta(alpha) <= fine.delta(alpha) + 3 / steps


def test_the_loss_at_a_remainder_and_the_remainder_at_a_loss_are_each_others_inverse():
    for profile in (laplace_profile([0.5, 0.2], releases=3), kendall_profile(9, 0.08, releases=2)):
        for delta in (0.2, 1e-3, 1e-6, 1e-9):
            alpha = profile.alpha(delta)
            assert profile.delta(alpha) <= delta * (1 + 1e-6)
            assert alpha == 0 or profile.delta(alpha - 1e-4) > delta


def test_a_remainder_too_small_for_the_transform_is_left_to_renyi_divergences_and_the_pure_loss():
    profile = kendall_profile(200, 4 / 19_900)
    found = [profile.alpha(10.0**-power) for power in (6, 12, 20, 60, 200)]
    assert found == sorted(found)
    assert found[-1] <= profile.pure
    assert found[0] < 1 < found[2] < 3


def test_no_loss_is_no_remainder():
    for profile in (laplace_profile([]), laplace_profile([0.0]), kendall_profile(1, 2.0), kendall_profile(5, 0.0)):
        assert (profile.pure, profile.delta(0.0), profile.alpha(1e-9)) == (0.0, 0.0, 0.0)


def test_a_shift_so_large_that_no_grid_holds_it_is_known_by_its_pure_loss():
    profile = laplace_profile([1e6])
    assert profile.alpha(1e-6) <= profile.pure == pytest.approx(2e6)


def test_losses_of_any_size_have_a_profile():
    for distances in ([500.0] * 3, [50.0, 20.0, 1.0]):
        profile = laplace_profile(distances, steps=500)
        assert 0.99 * profile.pure < profile.alpha(1e-6) <= profile.pure == pytest.approx(2 * sum(distances))
    tiny = kendall_profile(5, 1e-300)
    assert (tiny.alpha(1e-9), tiny.pure) == (0.0, pytest.approx(1e-299))
    assert kendall_inversions(5, 1e300) == (0.0, 0.0)
    assert known_by_most(1e300).alpha(1e-9) == pytest.approx(1e300)


def test_dominating_distances_bound_each_group():
    groups = [np.array([1.0, 0.2, 0.1]), np.array([0.6, 0.6]), np.array([0.9, 0.45, 0.01])]
    worst = dominating_distances(groups)
    assert (np.diff(worst) <= 1e-12).all()
    for each in groups:
        sums = np.cumsum(np.pad(each, (0, worst.size - each.size)))
        assert (np.cumsum(worst) >= sums - 1e-12).all()
        for alpha in ALPHAS[:3]:
            assert laplace_profile(each).delta(alpha) <= laplace_profile(worst).delta(alpha) + 1e-7


def test_the_worst_group_of_one_release_need_not_be_the_worst_of_many():
    """Taking the worst group first, and adding up its releases, would promise too much."""
    small, large = laplace_profile([2.0]), laplace_profile(np.full(200, 0.045))
    assert small.alpha(1e-6) < large.alpha(1e-6)
    often = laplace_profile([2.0], releases=16), laplace_profile(np.full(200, 0.045), releases=16)
    assert often[0].alpha(1e-6) > 1.5 * often[1].alpha(1e-6)
    assert WorstProfile(often).alpha(1e-6) == often[0].alpha(1e-6)


def two_blocks():
    return Groups.from_lists([list(range(3)), list(range(3, 63))])


def test_a_shuffler_adds_up_each_group_before_it_takes_the_worst():
    shuffler = MallowsShuffler(groups=two_blocks(), alpha=4.0)
    once, often = (shuffler.profiles(releases=releases) for releases in (1, 16))
    assert [each.smallest for each in once] == [3, 60]
    for size, theta in ((3, 4 / 3), (60, 4 / 1770)):
        mine = next(each for each in often if each.smallest == size)
        assert mine.profile.alpha(1e-6) == pytest.approx(kendall_profile(size, theta, releases=16).alpha(1e-6))


@pytest.mark.parametrize("kind", ["mallows", "laplace", "gaussian"])
def test_profiles_by_size_bound_each_group(kind):
    groups = Groups.from_radius(np.array([0.0, 1, 1, 2, 3, 3, 3, 3, 3.5, 4, 6, 7, 9]), 1.0)
    shuffler = {
        "mallows": lambda: MallowsShuffler(groups=groups, alpha=2.0),
        "laplace": lambda: NoisySortShuffler(groups=groups, alpha=2.0),
        "gaussian": lambda: NoisySortShuffler(groups=groups, alpha=2.0, noise="gaussian", delta=1e-4),
    }[kind]()
    prepared = shuffler.prepare()
    classes = size_classes(groups.sizes)
    assert sorted(np.concatenate(classes).tolist()) == np.flatnonzero(groups.sizes > 1).tolist()
    if kind == "laplace":
        own = moves_of(groups, prepared.order, prepared.parameters)
        for sized, numbers in zip(shuffler.profiles(), classes, strict=True):
            for number in numbers.tolist():
                assert laplace_profile(own(number)).delta(0.5) <= sized.profile.delta(0.5) + 1e-7
    assert all(each.profile.alpha(1e-4) <= 2.0 + 1e-9 for each in shuffler.profiles())


def line(people=120, radius=25):
    return Groups.from_radius(np.arange(people) ** 1.2, radius)


@pytest.mark.parametrize("kind", ["mallows", "laplace"])
def test_a_remainder_is_spent_and_not_exceeded(kind):
    make = MallowsShuffler if kind == "mallows" else NoisySortShuffler
    pure, spent = make(groups=line(), alpha=1.0), make(groups=line(), alpha=1.0, delta=1e-2)
    assert (spent.model(120).alpha, spent.model(120).delta) == (1.0, 1e-2)
    assert spent.model(120).pure_loss > 1.2 * pure.model(120).alpha
    losses = [each.profile.delta(1.0) for each in spent.profiles()]
    assert max(losses) <= 1e-2 * (1 + 1e-6)
    assert max(losses) >= 0.5e-2


@pytest.mark.parametrize("spacing", ["adaptive", "uniform"])
def test_every_group_of_a_sort_that_spends_a_remainder_is_within_it(spacing):
    groups = line(40, 12)
    shuffler = NoisySortShuffler(groups=groups, alpha=0.5, delta=1e-2, spacing=spacing)
    prepared = shuffler.prepare()
    own = moves_of(groups, prepared.order, prepared.parameters)
    losses = [laplace_profile(own(number), steps=500).delta(0.5) for number in range(0, len(groups), 3)]
    assert 0.7e-2 < max(losses) <= 1e-2 * (1 + 1e-3)


def test_a_remainder_spent_on_few_people_holds_by_enumeration():
    groups = Groups.from_lists([[0, 1, 2, 3], [2, 3, 4]])
    sort = NoisySortShuffler(groups=groups, alpha=0.6, delta=0.05).prepare()
    mallows = MallowsShuffler(groups=groups, alpha=0.6, delta=0.05).prepare()
    laws = [noisy_sort_law(sort.parameters), mallows_law(5, float(mallows.parameters[0]))]
    for law, prepared in zip(laws, (sort, mallows), strict=True):
        rank = np.argsort(prepared.order)
        for group in ([0, 1, 2, 3], [2, 3, 4]):
            ranks = tuple(sorted(rank[group].tolist()))
            assert exact_deltas(law, ranks, alphas=(0.6,))[0] <= 0.05


def test_a_group_with_gaps_keeps_its_pure_loss_where_that_allows_more_than_its_window():
    widths, pure = np.array([50]), np.array([0.4])
    assert KendallScales(1.0, 1e-6).of_groups(widths, pure) == 0.4
    assert KendallScales(1.0, 1e-6).of_groups(widths, np.array([1e-9])) == KendallScales(1.0, 1e-6).of_window(50)


def test_concentration_of_a_block_is_the_least_over_all_widths_though_few_are_looked_at():
    draw, chosen = np.random.default_rng(5), set()
    for alpha in (0.2, 9.0):
        scales = KendallScales(alpha, 1e-4)
        for _ in range(12):
            widths = draw.integers(2, 25, draw.integers(1, 9))
            pure = alpha / (widths ** draw.uniform(1.0, 2.0, widths.size)) * 0.9
            each = [max(scales.of_window(width), least) for width, least in zip(widths.tolist(), pure, strict=True)]
            found = scales.of_groups(widths, pure)
            assert found == min(each)
            chosen.add((found in pure, bool(np.argmin(each) == np.argmin(pure))))
    assert (
        len(chosen) == 4
    )  # by a window, by a pure loss, and each by another group than the one whose pure loss is largest


@pytest.mark.parametrize(("alpha", "pure", "chance"), [(0.5, 3.0, 0.01), (4.0, 4.5, 0.2), (0.0, 40.0, 1e-6)])
def test_a_mean_loss_is_as_large_as_alpha_and_delta_allow_where_all_but_a_few_lose_alpha(alpha, pure, chance):
    delta = chance * -math.expm1(alpha - pure)
    assert mean_loss_within(alpha, delta, pure) == pytest.approx(alpha + chance * (pure - alpha))
    assert mean_loss_within(pure + 1, delta, pure) == pure


@pytest.mark.parametrize("concentration", [0.001, 0.03, 0.4, 3.0])
def test_no_profile_meets_alpha_and_delta_with_a_larger_mean_loss(concentration):
    profile, mean = kendall_profile(30, concentration), kendall_inversions(30, concentration)[0]
    lost = concentration * (30 * 29 / 2 - 2 * mean)
    for delta in (1e-9, 1e-3, 0.3):
        assert lost <= mean_loss_within(profile.alpha(delta), delta, profile.pure) * (1 + 1e-9)


def test_scales_of_groups_use_up_the_remainder():
    groups = Groups.from_lists([list(range(40)), [40]])
    scale = laplace_scales(groups, np.arange(41), 1.0, 1e-6)
    assert scale[1] == math.inf
    own = moves_of(groups, np.arange(41), np.arange(41) * scale[0])(0)
    assert 0.999 <= laplace_profile(own).alpha(1e-6) <= 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: laplace_profile([-1.0]), "distances must be finite numbers of 0 or more"),
        (lambda: laplace_profile([1.0], releases=0), "releases must be an integer"),
        (lambda: kendall_profile(3, -1.0), "concentration must be"),
        (lambda: kendall_profile(3, 1.0).delta(-1.0), "alpha must be"),
        (lambda: kendall_profile(3, 1.0).alpha(0.0), "delta must be"),
        (lambda: MallowsShuffler(groups=line(), alpha=0.0, delta=0.1), "alpha must be finite and above 0 beside delta"),
        (
            lambda: MallowsShuffler(groups=line(), concentration=1.0, delta=0.1),
            "delta must be left out but beside alpha",
        ),
    ],
)
def test_bad_parameters_are_refused(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()


@pytest.mark.parametrize("shift", [5e-324, 1e-300, 1e-160, 1e-120, 1e-20, 1e-13])
@pytest.mark.parametrize("releases", [1, 16])
def test_shifts_too_small_for_a_grid_have_a_profile_and_no_division_by_zero(shift, releases):
    """Two members that change places by so little are told apart with a quarter to a half of their loss."""
    found = laplace_profile([shift], releases=releases)
    assert 2 * releases * shift <= found.pure <= 2 * releases * shift * (1 + 1e-11)
    assert found.delta(found.pure) == 0.0
    assert shift / 2 <= found.delta(0.0) <= found.pure / 2 + 3e-16
    assert found.curve(np.array([0.0]))[0] == pytest.approx(found.delta(0.0), abs=1e-12)
    assert found.alpha(1e-6) == 0.0
    assert 0 <= found.alpha(1e-30) <= found.pure
