from fractions import Fraction

import numpy as np
import pytest

from leakage.small import FLIP, HALF, QUARTER, THREE, as_floats, random_channel
from shuffledp.channels import Channel
from shuffledp.errors import InvalidParameterError
from shuffledp.leakage import gain
from shuffledp.leakage.comparing import equivalent, refines

TINY = Fraction(1, 10**12)


def test_channels_are_equivalent_if_outputs_are_split_renamed_and_reordered():
    split = Channel(
        np.array(
            [
                [HALF * QUARTER, Fraction(3, 8), Fraction(0), QUARTER + HALF * QUARTER, Fraction(1, 8)],
                [Fraction(3, 8), Fraction(1, 8), Fraction(0), Fraction(1, 8), Fraction(3, 8)],
            ]
        ),
        outputs=("a", "b", "c", "d", "e"),
    )
    assert equivalent(FLIP, split)
    assert equivalent(split, FLIP)
    assert equivalent(as_floats(FLIP), split)
    assert equivalent(split, split.reduced())


def test_channels_of_the_same_columns_with_other_probabilities_are_not_equivalent():
    often = Channel([[HALF, QUARTER, QUARTER], [Fraction(0), HALF, HALF]])
    seldom = Channel([[QUARTER, Fraction(3, 4)], [HALF, HALF]])
    assert not equivalent(often, seldom)
    assert not equivalent(seldom, often)


def test_exact_channels_differ_however_little_and_floats_only_beyond_rounding():
    near = Channel([[3 * QUARTER + TINY, QUARTER - TINY], [QUARTER, 3 * QUARTER]])
    assert not equivalent(FLIP, near)
    assert equivalent(as_floats(FLIP), near)
    assert not equivalent(as_floats(FLIP), Channel([[0.75 + 1e-6, 0.25 - 1e-6], [0.25, 0.75]]))


def test_floats_of_the_same_columns_with_slightly_other_probabilities_are_not_equivalent():
    def mixture(shift):
        return Channel(
            [[0.5 - 2 * shift, 0.25 - shift, 0.25 + 3 * shift], [0.25 - shift, 0.5 - 2 * shift, 0.25 + 3 * shift]]
        )

    assert equivalent(mixture(0), mixture(1e-12))
    assert not equivalent(mixture(0), mixture(1e-6))


def test_equivalent_channels_have_the_same_hyper_and_others_a_prior_that_tells_them_apart():
    rng = np.random.default_rng(1)
    first = random_channel(rng, 3, 4)
    shuffled = Channel(first.matrix[:, [2, 0, 3, 1]])
    assert equivalent(first, shuffled)
    assert first.hyper().outer.tolist() == shuffled.hyper().outer.tolist()
    assert first.hyper().inners.tolist() == shuffled.hyper().inners.tolist()


def test_what_is_made_of_a_channel_is_refined_from_it():
    rng = np.random.default_rng(2)
    for _ in range(10):
        first, after = random_channel(rng, 4, 5), random_channel(rng, 5, 3)
        assert refines(first, first.cascade(after))
        assert refines(first, first)
        assert not refines(first.cascade(after), first)


def test_what_is_made_of_a_lopsided_channel_of_floats_is_refined_from_it():
    """Solved with usual tolerances alone, some of these come out with errors of up to 1e-7."""
    rng = np.random.default_rng(0)
    for concentration in (1.0, 0.05, 0.3) * 8:
        inputs, given, made = rng.integers(3, 16, 3)
        first = Channel(rng.dirichlet(np.full(given, concentration), inputs))
        after = Channel(rng.dirichlet(np.full(made, concentration), given))
        assert refines(first, first.cascade(after))


def test_refinement_is_lost_by_a_change_of_a_millionth():
    given = THREE.cascade(Channel([[HALF, HALF], [QUARTER, 3 * QUARTER], [Fraction(0), Fraction(1)]]))
    assert refines(THREE, given)
    sharp = Channel([[0.75, 0.25], [0.25, 0.75]])
    assert refines(sharp, Channel([[0.75, 0.25], [0.25, 0.75]]))
    assert not refines(sharp, Channel([[0.75 + 1e-6, 0.25 - 1e-6], [0.25, 0.75]]))


def test_refinement_either_way_is_equivalence():
    rng = np.random.default_rng(3)
    first = random_channel(rng, 3, 4)
    shuffled = Channel(first.matrix[:, [2, 0, 3, 1]])
    assert refines(first, shuffled)
    assert refines(shuffled, first)


def test_nobody_gains_more_from_what_is_refined_and_somebody_does_from_what_is_not():
    rng = np.random.default_rng(4)
    first = random_channel(rng, 3, 3)
    refined, unrelated = first.cascade(random_channel(rng, 3, 3)), random_channel(rng, 3, 3)
    assert not refines(first, unrelated)
    assert not refines(unrelated, first)
    differences = {"refined": [], "unrelated": []}
    for _ in range(300):
        prior, table = rng.dirichlet(np.ones(3)), rng.random((3, 3))
        for name, other in (("refined", refined), ("unrelated", unrelated)):
            differences[name].append(gain.posterior(prior, first, table) - gain.posterior(prior, other, table))
    assert min(differences["refined"]) >= -1e-12
    assert min(differences["unrelated"]) < -1e-3


@pytest.mark.parametrize("compare", [equivalent, refines])
def test_channels_of_other_secrets_cannot_be_compared(compare):
    with pytest.raises(InvalidParameterError, match="other must have the inputs of channel, in the same order"):
        compare(FLIP, THREE)
    with pytest.raises(InvalidParameterError, match="other must have the inputs of channel"):
        compare(FLIP, Channel(FLIP.matrix, inputs=(1, 0)))
    with pytest.raises(InvalidParameterError, match="other must be a Channel"):
        compare(FLIP, FLIP.matrix)


def test_a_program_of_refinement_that_is_too_large_is_refused():
    rng = np.random.default_rng(5)
    large = Channel(rng.dirichlet(np.ones(200), 200))
    with pytest.raises(InvalidParameterError, match="at most 4000000 coefficients"):
        refines(large, large)
