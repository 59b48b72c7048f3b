"""Explicit laws, and the loss that they have: enumerations of everything that few people can be."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from laws.enumerated import (
    MEASURES,
    exchanges,
    groups_of,
    inverse,
    inversions,
    kendall_formula,
    product,
    ranks_of,
    relabelings,
    sensitivity,
)
from laws.imperfect_laws import imperfect_laws, normalized, position_biased_law, preserved, preserving_law, sharp_sum
from shuffledp.core.errors import InvalidParameterError
from shuffledp.laws import (
    composed_law,
    d_sigma_loss,
    d_sigma_ratio,
    gaussian_delta,
    imperfection,
    law_around,
    mallows_law,
    noisy_sort_law,
    shuffle_around,
)
from shuffledp.protocols.d_sigma.laws.spacing import adaptive_gaps, positions_of_gaps, sort_spreads
from shuffledp.protocols.d_sigma.people.assignment import Groups

HALF = Fraction(1, 2)


def law_of(num_items, exponent):
    """The law of probability proportional to 2^-exponent, in fractions."""
    weights = {each: HALF ** exponent(each) for each in itertools.permutations(range(num_items))}
    total = sum(weights.values())
    return {each: weight / total for each, weight in weights.items()}


@pytest.mark.parametrize("num_items", [3, 4])
@pytest.mark.parametrize("distance", MEASURES)
def test_the_loss_is_the_concentration_times_the_exact_sensitivity_of_the_order(num_items, distance):
    around_identity = mallows_law(num_items, ratio=HALF, distance=distance)
    for order in itertools.permutations(range(num_items)):
        law = law_around(around_identity, order)
        for group in groups_of(num_items):
            ranks = ranks_of(group, order)
            found = d_sigma_ratio(law, [group])
            assert found == 2 ** sensitivity(num_items, ranks, distance)
            if distance == "kendall":
                assert found == 2 ** kendall_formula(ranks)


@pytest.mark.parametrize("order", [(4, 1, 3, 0, 2), (2, 4, 0, 1, 3)])
def test_five_people_lose_what_the_formula_says(order):
    law = law_around(mallows_law(5, ratio=HALF), order)
    for group in groups_of(5):
        assert d_sigma_ratio(law, [group]) == 2 ** kendall_formula(ranks_of(group, order))


def readings(order):
    """Law of sigma* as built, and in the three other readings of distance and product."""
    after = inverse(order)

    def conjugated(sigma, first, then):
        return inversions(product(product(first, sigma), then))

    return [
        law_of(len(order), lambda sigma: conjugated(sigma, order, after)),
        law_of(len(order), inversions),
        law_of(len(order), inversions),
        law_of(len(order), lambda sigma: conjugated(sigma, after, order)),
    ]


@pytest.mark.parametrize(
    ("order", "group", "losses"), [((0, 2, 3, 1), (0, 2), [1, 3, 3, 5]), ((0, 2, 1), (0, 2), [1, 3, 3, 1])]
)
def test_only_one_reading_of_the_composition_is_private(order, group, losses):
    laws = readings(order)
    assert law_around(mallows_law(len(order), ratio=HALF), order) == laws[0]
    assert [d_sigma_ratio(law, [group]) for law in laws] == [2**loss for loss in losses]


def test_other_readings_exceed_even_the_paper_s_larger_sensitivity():
    def violations(reading):
        return sum(
            d_sigma_ratio(readings(order)[reading], [group]) > 2 ** (width * (width + 1) // 2)
            for order in itertools.permutations(range(3))
            for group in groups_of(3)
            for width in [max(ranks_of(group, order)) - min(ranks_of(group, order))]
        )

    assert violations(0) == 0
    assert violations(1) > 0


def test_the_loss_is_that_of_all_neighboring_inputs_and_all_outputs():
    # Straight from Definition 4.2: two inputs that differ by an exchange within the group, with equal values too.
    order, group = (2, 0, 3, 1), (0, 1, 3)
    law = law_around(mallows_law(4, ratio=HALF), order)
    worst = dict.fromkeys((2, 4), Fraction(0))
    for letters in (2, 4):
        for values in itertools.product(range(letters), repeat=4):
            outputs = {}
            for relabeled in relabelings(4, group):
                data = tuple(values[relabeled[owner]] for owner in range(4))
                for sigma, chance in law.items():
                    released = tuple(data[sigma[slot]] for slot in range(4))
                    row = outputs.setdefault(released, {})
                    row[relabeled] = row.get(relabeled, 0) + chance
            for row in outputs.values():
                worst[letters] = max(worst[letters], max(row.values()) / min(row.values()))
    assert worst[4] == d_sigma_ratio(law, [group])
    assert worst[2] < worst[4]


def test_what_is_impossible_next_to_what_is_possible_is_an_infinite_loss():
    assert d_sigma_loss({(0, 1): 1}, [[0, 1]]) == math.inf
    assert d_sigma_loss({(0, 1): 1, (1, 0): 0}, [(1, 0)]) == math.inf
    assert d_sigma_loss({(0, 1): 1}, [[0], [1], []]) == 0
    assert d_sigma_ratio({(0, 1, 2): HALF, (1, 0, 2): HALF}, [np.array([0, 1])]) == 1


def test_fractions_beyond_all_floats_have_a_loss():
    tiny = Fraction(1, 10**400)
    assert d_sigma_loss({(0, 1): 1 - tiny, (1, 0): tiny}, [[0, 1]]) == pytest.approx(400 * math.log(10))


def random_groups(rng, num_items):
    return [
        np.sort(rng.choice(num_items, size=int(rng.integers(2, num_items + 1)), replace=False))
        for _ in range(int(rng.integers(1, 4)))
    ]


def adapted(groups, num_items, budget, power):
    spreads = sort_spreads(np.arange(num_items), groups, power=power)
    first, last = [group[0] for group in groups], [group[-1] for group in groups]
    return positions_of_gaps(adaptive_gaps(num_items, first, last, spreads, budget, cap=5.0))


@pytest.mark.parametrize("num_items", [4, 5])
def test_a_laplace_sort_with_adaptive_spacing_never_exceeds_its_budget_and_twice_the_positions_do(num_items):
    rng = np.random.default_rng(num_items)
    found, doubled = [], []
    for _ in range(12):
        groups, alpha = random_groups(rng, num_items), float(rng.uniform(0.3, 3))
        at = adapted(groups, num_items, alpha, power=1)
        assert sort_spreads(at, groups).max() <= alpha * (1 + 1e-12)
        found.append(d_sigma_loss(noisy_sort_law(at), groups) / alpha)
        doubled.append(d_sigma_loss(noisy_sort_law(2 * at), groups) / alpha)
    assert max(found) <= 1
    assert max(doubled) > 1


def exact_delta(law, group, alpha, num_items):
    return max(
        sum(max(0.0, chance - math.exp(alpha) * law[product(sigma, relabeled)]) for sigma, chance in law.items())
        for relabeled in relabelings(num_items, group)
    )


def test_a_gaussian_sort_never_exceeds_its_delta_and_twice_the_positions_do():
    rng = np.random.default_rng(1)
    over = 0
    for _ in range(6):
        groups = random_groups(rng, 4)
        at = adapted(groups, 4, 1.5, power=2)
        law, doubled = noisy_sort_law(at, noise="gaussian"), noisy_sort_law(2 * at, noise="gaussian")
        for alpha in (0.0, 0.5, 1.5):
            for group, mu in zip(groups, sort_spreads(at, groups, power=2), strict=True):
                members = tuple(group.tolist())
                assert exact_delta(law, members, alpha, 4) <= gaussian_delta(mu, alpha)
                over += exact_delta(doubled, members, alpha, 4) > gaussian_delta(mu, alpha)
    assert over > 10


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_probabilities_of_a_noisy_sort_add_up_and_equal_positions_are_alike(noise):
    law = noisy_sort_law([0.0, 0.0, 0.3, 7.0], noise=noise)
    assert sum(law.values()) == pytest.approx(1, abs=1e-13)
    assert law[0, 1, 2, 3] == pytest.approx(law[1, 0, 2, 3], rel=1e-12)
    assert noisy_sort_law([0.0, 1.0], scale=0.5, noise=noise) == pytest.approx(
        noisy_sort_law([0.0, 2.0], noise=noise), rel=1e-12
    )


def test_the_shuffle_around_an_order_moves_reports_between_ranks():
    order, ranks = [2, 0, 3, 1], np.array([1, 3, 0, 2])
    sigma = shuffle_around(ranks, order)
    assert all(sigma[order[k]] == order[ranks[k]] for k in range(4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: d_sigma_loss({}, []), "law must have permutations"),
        (lambda: d_sigma_loss({(0, 0): 1}, []), "law must have permutations"),
        (lambda: d_sigma_loss({(0, 1): 0.5, (0,): 0.5}, []), "of one n"),
        (lambda: d_sigma_loss({(0, 1): 1.5, (1, 0): -0.5}, []), "0 or more"),
        (lambda: d_sigma_loss({(0, 1): math.nan}, []), "0 or more"),
        (lambda: d_sigma_loss({(0, 1): Fraction(1, 3)}, []), "sum to 1; got another sum"),
        (lambda: d_sigma_loss({(0, 1, 2): 1.0}, [[0, 1], [0, 3]]), "groups must hold owners from 0 to 2; group 1 does"),
        (
            lambda: d_sigma_loss({(0, 1, 2): 1.0}, Groups.from_labels([0, 0, 1, 1])),
            "groups must be of the law's 3 owners; got groups of 4",
        ),
        (lambda: d_sigma_loss({(0, 1): 1}, [[0], [0, 2]]), "groups must hold owners from 0 to 1; group 1 does not"),
        (lambda: d_sigma_loss({(0, 1): 1}, [[0.5]]), "group 0 does not"),
        (lambda: d_sigma_loss([(0, 1)], []), "law must be a Mapping"),
        (lambda: law_around({(0, 1): 1}, [0]), "reference_order must have 2 owners"),
        (lambda: law_around({(0, 1): 1}, [0, 0]), "must hold each of 0"),
        (lambda: mallows_law(9, 1.0), "at most 8 for a law that is written out; got num_items=9"),
        (lambda: mallows_law(3), "exactly one of concentration and ratio"),
        (lambda: mallows_law(3, 1.0, ratio=HALF), "exactly one of concentration and ratio"),
        (lambda: mallows_law(3, -1.0), "concentration must be"),
        (lambda: mallows_law(3, ratio=Fraction(3, 2)), "ratio must be a number from 0 to 1"),
        (lambda: mallows_law(3, 1.0, distance="ulam"), "distance must be one of 'kendall', 'hamming', 'cayley'"),
        (lambda: noisy_sort_law([0.0, math.nan]), "positions must be finite"),
        (lambda: noisy_sort_law([]), "num_items must be an integer that is 1 or more"),
        (lambda: noisy_sort_law([0.0], scale=0), "scale must be"),
        (lambda: noisy_sort_law([0.0], noise="cauchy"), "noise must be one of 'laplace', 'gaussian'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()


def test_extreme_concentrations_have_a_law():
    assert mallows_law(3, math.inf)[0, 1, 2] == 1
    assert set(mallows_law(3, 0.0).values()) == {1 / 6}
    assert mallows_law(3, ratio=Fraction(0))[0, 1, 2] == 1
    assert mallows_law(1, 1.0) == {(0,): 1}


SLACK = 1e-9
GAMMAS = (0.1, 0.5, 1.0)


def random_law(num_items, seed):
    weights = np.random.default_rng(seed).random(math.factorial(num_items)) + 0.05
    return normalized(dict(zip(itertools.permutations(range(num_items)), weights.tolist(), strict=True)))


@pytest.mark.parametrize("num_items", [2, 3, 4, 5])
def test_the_mallows_law_of_cayleys_distance_is_exactly_as_imperfect_as_its_concentration(num_items):
    assert imperfection(mallows_law(num_items, ratio=Fraction(1, 2), distance="cayley")) == math.log(2)
    assert imperfection(mallows_law(num_items, 0.7, distance="cayley")) == pytest.approx(0.7, abs=SLACK)


@pytest.mark.parametrize("num_items", [1, 2, 3, 4])
def test_the_uniform_law_is_perfect_and_every_other_one_is_not(num_items):
    uniform = mallows_law(num_items, ratio=Fraction(1), distance="cayley")
    assert imperfection(uniform) == 0
    if num_items > 1:
        assert imperfection(random_law(num_items, 1)) > 0.1
        assert imperfection(mallows_law(num_items, ratio=Fraction(0), distance="cayley")) == math.inf
        assert imperfection({tuple(range(num_items)): 1}) == math.inf


def test_kendalls_mallows_law_is_more_imperfect_than_its_concentration():
    """Exchanging both ends of n places changes Kendall's distance by 2 n - 3."""
    assert imperfection(mallows_law(4, 0.1)) == pytest.approx(0.5)


@pytest.mark.parametrize("law", [random_law(4, 2), preserving_law(4, [0, 2], 0.6), mallows_law(4, 0.4)])
def test_comparing_neighbors_is_comparing_all_pairs_by_their_distance(law):
    worst = max(math.log(law[a] / law[b]) / exchanges(product(a, inverse(b))) for a in law for b in law if a != b)
    assert imperfection(law) == pytest.approx(worst, abs=SLACK)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("num_items", [3, 4])
def test_the_laws_of_these_tests_have_the_imperfection_that_they_should(num_items, gamma):
    for law in imperfect_laws(num_items, gamma).values():
        assert imperfection(law) == pytest.approx(gamma, abs=SLACK)


# ---- delays ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offsets", "expected"), [([0, 0.5, 1], 1.458), ([0, 0, 1, 1], 1.757), ([0, 0, 0.5, 1, 1], 1.888)]
)
def test_a_sort_by_delay_is_less_imperfect_than_it_is_allowed_to_be(offsets, expected):
    """Scale 2 / gamma at gamma = 2."""
    assert imperfection(noisy_sort_law(offsets, scale=1.0)) == pytest.approx(expected, abs=5e-4)


def test_no_offsets_make_a_sort_by_delay_more_imperfect_and_half_the_noise_would():
    generator, largest = np.random.default_rng(3), 0.0
    for _ in range(10):
        offsets = generator.random(4)
        found = imperfection(noisy_sort_law(offsets, scale=2.0))
        assert found <= np.ptp(offsets) + SLACK
        largest = max(largest, found)
    assert 0.3 < largest < 1
    assert imperfection(noisy_sort_law([0, 0, 1, 1], scale=0.5)) > 2


# ---- composition (Lemma 4.7) ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [random_law(4, 4), {(3, 1, 0, 2): 1}, mallows_law(4, math.inf), mallows_law(4, 0.3)])
def test_composing_with_anything_independent_on_either_side_makes_no_law_more_imperfect(other):
    for law in imperfect_laws(4, 0.8).values():
        for composed in (composed_law(other, law), composed_law(law, other)):
            assert sum(composed.values()) == pytest.approx(1)
            assert imperfection(composed) <= 0.8 + SLACK
    fixed = {(3, 1, 0, 2): 1}
    assert imperfection(composed_law(fixed, position_biased_law(4, 0.8))) == pytest.approx(0.8)
    assert imperfection(composed_law(position_biased_law(4, 0.8), fixed)) == pytest.approx(0.8)


def test_composition_applies_the_inner_permutation_first():
    assert composed_law({(1, 2, 0): 1}, {(1, 0, 2): 1}) == {(2, 1, 0): 1}


# ---- the sharp lemma ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("num_items", [3, 4, 5])
def test_no_imperfect_shuffle_keeps_a_set_together_more_often_than_the_sharp_lemma_says(num_items, gamma):
    for size in range(1, num_items):
        bound = 1 / sharp_sum(num_items, size, gamma)
        for law in imperfect_laws(num_items, gamma).values():
            for members in itertools.combinations(range(num_items), size):
                assert preserved(law, members) <= bound * (1 + SLACK)


@pytest.mark.parametrize("gamma", [0.0, *GAMMAS])
@pytest.mark.parametrize("num_items", [3, 4, 5])
def test_one_imperfect_shuffle_attains_it(num_items, gamma):
    for size in range(1, num_items):
        law = preserving_law(num_items, range(size), gamma)
        assert imperfection(law) == pytest.approx(gamma, abs=SLACK)
        assert preserved(law, range(size)) == pytest.approx(1 / sharp_sum(num_items, size, gamma))


def test_the_sharp_lemma_at_five_people_is_far_below_one():
    assert 1 / sharp_sum(5, 2, 1.0) == pytest.approx(0.27676, abs=5e-6)


# ---- bad input ------------------------------------------------------------------------------------------------------


def test_what_is_no_law_is_refused():
    with pytest.raises(InvalidParameterError, match="law must have probabilities that sum to 1"):
        imperfection({(0, 1): 0.5})
    with pytest.raises(InvalidParameterError, match="law must have permutations"):
        imperfection({(0, 0): 1})
    with pytest.raises(InvalidParameterError, match="num_items must be at most 8"):
        imperfection({tuple(range(9)): 1})
    with pytest.raises(InvalidParameterError, match="inner_items must be of 2 items, as outer is"):
        composed_law({(0, 1): 1}, {(0, 1, 2): 1})
