"""The imperfection of laws of few items, and what the sharp lemma says of all imperfect laws."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from laws.enumerated import exchanges, inverse, product
from laws.imperfect_laws import imperfect_laws, normalized, position_biased_law, preserved, preserving_law, sharp_sum
from shuffledp.errors import InvalidParameterError
from shuffledp.laws import composed_law, imperfection, mallows_law, noisy_sort_law

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
