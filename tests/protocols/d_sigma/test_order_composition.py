"""Losses of several releases are added up group by group: never below what enumeration finds, never the worst first."""

import math
from dataclasses import replace
from itertools import combinations, permutations, product

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import DSigmaPrivacy
from shuffledp.core.order_laws import OrderLaw
from shuffledp.laws import gaussian_alpha, gaussian_mu
from shuffledp.protocols.d_sigma import (
    Groups,
    MallowsShuffler,
    NoisySortShuffler,
    kendall_profile,
    laplace_profile,
    losses_by_size,
    orders_added_up,
)
from shuffledp.protocols.d_sigma.laws.loss_profiles import ResponseProfile
from shuffledp.protocols.d_sigma.laws.sort_profiles import few_distances
from shuffledp.protocols.d_sigma.planning.order_composition import laws_of

LARGE = Groups.from_labels(np.arange(192) // 96)


def claim(shuffler) -> DSigmaPrivacy:
    """What a release by a shuffler promises about the order, with its laws by size."""
    model = shuffler.model(shuffler.groups.num_users)
    return replace(model.d_sigma, by_size=laws_of(shuffler))


def worst(claims, delta=1e-6) -> float:
    return max(alpha for _, _, alpha in orders_added_up(claims, delta=delta))


def pairs(small: float, large: float) -> DSigmaPrivacy:
    """A release about pairs, who lose ``small``, and about groups of 96, who lose ``large``."""
    laws = [
        OrderLaw(smallest=size, largest=size, num_groups=3, pure=pure, law="kendall", numbers=(theta,), counts=(size,))
        for size, pure, theta in ((2, small, small), (96, large, large / (96 * 95 / 2)))
    ]
    return DSigmaPrivacy(alpha=max(small, large), groups_digest="c0ffee", by_size=tuple(laws))


@pytest.mark.parametrize(("releases", "expected"), [(4, 2.512), (16, 5.488), (64, 12.46)])
def test_equal_releases_lose_what_is_published(releases, expected):
    assert worst([claim(MallowsShuffler(groups=LARGE, alpha=4.0))] * releases) == pytest.approx(expected, abs=5e-3)


def test_the_worst_group_is_taken_after_the_releases_and_not_in_each():
    """A release that is hard on pairs and one that is hard on large groups are hard on nobody twice."""
    first, second = pairs(1.0, 0.5), pairs(0.05, 8.0)
    by_size = {size: alpha for size, _, alpha in orders_added_up([first, second], delta=1e-6)}
    small, large = kendall_profile(2, 1.0), kendall_profile(96, 8.0 / 4560)
    assert by_size[2] == pytest.approx(1.05, rel=1e-3)
    assert large.alpha(1e-6) < by_size[96] < large.alpha(1e-6) * 1.02
    each_release_first = worst([pairs(1.0, 1.0), pairs(8.0, 8.0)])
    assert small.alpha(1e-6) + large.alpha(1e-6) < each_release_first
    assert worst([first, second]) < 0.5 * each_release_first


@pytest.mark.parametrize(
    "shufflers",
    [
        pytest.param([MallowsShuffler(groups=LARGE, alpha=4.0), MallowsShuffler(groups=LARGE, alpha=3.9)], id="two"),
        pytest.param([MallowsShuffler(groups=LARGE, alpha=4.0), NoisySortShuffler(groups=LARGE, alpha=4.0)], id="both"),
    ],
)
def test_unequal_releases_lose_between_what_the_lesser_and_what_the_greater_would_twice(shufflers):
    both = worst([claim(each) for each in shufflers])
    twice = [losses_by_size(each, delta=1e-6, releases=2)[0].alpha for each in shufflers]
    assert min(twice) < both < max(twice)


def test_gaussian_releases_add_up_as_squares_and_mix_with_others():
    sort = NoisySortShuffler(groups=LARGE, alpha=4.0, noise="gaussian", delta=1e-6)
    mu = gaussian_mu(4.0, 1e-6)
    assert worst([claim(sort)] * 4) == pytest.approx(gaussian_alpha(2 * mu, 1e-6), rel=1e-6)
    assert 4.0 < worst([claim(sort), claim(MallowsShuffler(groups=LARGE, alpha=4.0))]) < 4.6


def test_a_release_without_laws_counts_as_a_response_for_every_group():
    known, unknown = pairs(0.2, 4.0), DSigmaPrivacy(alpha=0.5, groups_digest="c0ffee")
    by_size = {size: alpha for size, _, alpha in orders_added_up([known, unknown], delta=1e-6)}
    assert by_size[2] == pytest.approx(0.7, rel=1e-3)
    assert kendall_profile(96, 4 / 4560).alpha(1e-6) < by_size[96] < kendall_profile(96, 4 / 4560).alpha(1e-6) + 0.5
    assert orders_added_up([unknown, unknown], delta=1e-6) == ()


def test_other_groups_are_not_added_up_with_these():
    other = claim(MallowsShuffler(groups=Groups.from_labels(np.arange(192) // 48), alpha=4.0))
    assert orders_added_up([pairs(1.0, 1.0), other], delta=1e-6) == ()


def test_a_response_has_the_profile_of_two_laws():
    found = ResponseProfile(1.0)
    laws = np.array([math.e, 1]) / (1 + math.e)
    for alpha in (0.0, 0.4, 0.99, 1.0, 2.0):
        truth = np.maximum(laws - math.exp(alpha) * laws[::-1], 0.0).sum()
        assert found.delta(alpha) == pytest.approx(truth, abs=1e-9)
    assert found.delta(found.alpha(1e-3)) == pytest.approx(1e-3, rel=1e-6)


def test_few_distances_dominate_many():
    random = np.random.default_rng(3)
    many = np.sort(random.random(2000) ** 3)[::-1]
    values, counts = few_distances(many, kinds=8)
    few = np.repeat(values, counts)
    assert values.size <= 24
    assert few.size == many.size
    assert (np.cumsum(few) >= np.cumsum(many) - 1e-9).all()
    assert few.sum() == pytest.approx(many.sum(), rel=1e-12)
    own, bound = (laplace_profile(each / 50, steps=500).alpha(1e-6) for each in (many, few))
    assert own <= bound * (1 + 1e-3)
    assert bound < own * 1.02


def test_a_claim_below_its_own_laws_is_refused():
    law = OrderLaw(smallest=2, largest=3, num_groups=1, pure=1.0)
    with pytest.raises(InvalidParameterError, match="largest loss by_size"):
        DSigmaPrivacy(alpha=2.0, groups_digest="c0ffee", by_size=(law,))
    with pytest.raises(InvalidParameterError, match="one of counts for each"):
        replace(law, law="laplace", numbers=(1.0,))
    assert DSigmaPrivacy.from_dict(pairs(1.0, 4.0).to_dict()) == pairs(1.0, 4.0)


def test_without_a_common_block_anything_may_be_lost():
    line = Groups.from_radius(np.arange(40), 3)
    for shuffler in (
        NoisySortShuffler(groups=line, alpha=math.inf),
        NoisySortShuffler(groups=line, alpha=math.inf, noise="gaussian", delta=1e-6),
    ):
        assert all(math.isinf(each.alpha) for each in losses_by_size(shuffler, delta=1e-6))
        assert all(math.isinf(each.pure) for each in laws_of(shuffler))


def _mallows_law(theta: float, people: int) -> dict[tuple[int, ...], float]:
    weights = {
        order: math.exp(-theta * sum(a > b for a, b in combinations(order, 2))) for order in permutations(range(people))
    }
    whole = math.fsum(weights.values())
    return {order: weight / whole for order, weight in weights.items()}


def _exchanged(law: dict[tuple[int, ...], float], swap: dict[int, int]) -> dict[tuple[int, ...], float]:
    return {tuple(swap.get(label, label) for label in order): chance for order, chance in law.items()}


@pytest.mark.parametrize("delta", [1e-3, 0.01])
def test_no_exchange_inside_a_group_loses_more_in_two_releases_by_enumeration(delta):
    """Each release may exchange the answers of the same group in another way."""
    people, thetas = 4, (0.3, 0.7)
    groups = Groups.from_lists([[0, 1], [0, 1, 2], [1, 2, 3], [2, 3]], people)
    order = np.arange(people)
    claims = [claim(MallowsShuffler(groups=groups, concentration=theta, order=order)) for theta in thetas]
    laws = [_mallows_law(theta, people) for theta in thetas]
    stated, tight = worst(claims, delta), 0.0
    for group in ((0, 1), (0, 1, 2), (1, 2, 3), (2, 3)):
        ways = [dict(zip(group, to, strict=True)) for to in permutations(group)]
        for pair in product(ways, repeat=2):
            first, second = np.ones(1), np.ones(1)
            for law, way in zip(laws, pair, strict=True):
                other = _exchanged(law, way)
                first = np.multiply.outer(first, list(law.values())).ravel()
                second = np.multiply.outer(second, [other[each] for each in law]).ravel()
            excess = np.maximum(first - math.exp(stated) * second, 0.0).sum()
            assert excess <= delta * (1 + 1e-9)
            tight = max(tight, np.maximum(first - math.exp(stated * 0.9) * second, 0.0).sum())
    assert tight > delta
