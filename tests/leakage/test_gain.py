import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from leakage.small import (
    FLIP,
    HALF,
    QUARTER,
    THREE,
    as_floats,
    best_over_strategies,
    random_channel,
    random_fractions,
)
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError
from shuffledp.leakage import bayes, gain
from shuffledp.leakage.gain import equivalent, refines

BELIEF = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
IDENTITY = np.eye(3, dtype=int)
TABLE = [[1, 0, 0], [0, 1, HALF], [HALF, HALF, HALF], [0, 0, 2]]
ASKING = (gain.posterior, gain.additive_leakage, gain.multiplicative_leakage, gain.strategy)
TINY = Fraction(1, 10**12)


def test_a_gain_for_right_guesses_is_bayes_vulnerability():
    assert gain.prior(BELIEF, IDENTITY) == bayes.prior(BELIEF)
    assert gain.posterior(BELIEF, THREE, IDENTITY) == bayes.posterior(BELIEF, THREE)
    assert gain.additive_leakage(BELIEF, THREE, IDENTITY) == bayes.additive_leakage(BELIEF, THREE)
    assert gain.multiplicative_leakage(BELIEF, THREE, IDENTITY) == bayes.multiplicative_leakage(BELIEF, THREE)
    assert gain.strategy(BELIEF, THREE, IDENTITY) == bayes.strategy(BELIEF, THREE)


def test_the_posterior_vulnerability_is_that_of_the_best_of_all_strategies():
    rng = np.random.default_rng(2)
    for belief in (BELIEF, *random_fractions(rng, 10, 3, total=1)):
        assert gain.posterior(belief, THREE, TABLE) == best_over_strategies(belief, THREE, TABLE)
        assert gain.prior(belief, TABLE) == max(sum(g * p for g, p in zip(row, belief, strict=True)) for row in TABLE)


def test_leakage_compares_after_with_before():
    before, after = gain.prior(BELIEF, TABLE), gain.posterior(BELIEF, THREE, TABLE)
    assert gain.additive_leakage(BELIEF, THREE, TABLE) == after - before > 0
    assert gain.multiplicative_leakage(BELIEF, THREE, TABLE) == after / before


def test_following_the_strategy_gains_the_posterior_vulnerability():
    actions, joint = gain.strategy(BELIEF, THREE, TABLE), THREE.joint(BELIEF)
    gained = sum(joint[x, y] * TABLE[action][x] for y, action in actions.items() for x in range(3))
    assert gained == gain.posterior(BELIEF, THREE, TABLE)


def test_answers_are_fractions_where_all_is_and_floats_else():
    floats = np.array(TABLE, dtype=np.float64)
    for verb in ASKING[:-1]:
        assert isinstance(verb(None, THREE, TABLE), Fraction)
        for answer in (verb(None, THREE, floats), verb(None, as_floats(THREE), TABLE)):
            assert type(answer) is float
            assert answer == pytest.approx(float(verb(None, THREE, TABLE)))


def test_a_prior_that_is_left_out_is_uniform():
    third = Fraction(1, 3)
    assert gain.prior(None, TABLE) == gain.prior([third] * 3, TABLE)
    assert gain.posterior(None, THREE, TABLE) == gain.posterior([third] * 3, THREE, TABLE)


def test_losses_are_allowed_as_long_as_some_action_avoids_them():
    """Somebody may win 1 or lose 3 by guessing, or abstain."""
    careful = [[1, -3], [-3, 1], [0, 0]]
    assert gain.prior(None, careful) == 0
    assert gain.posterior(None, FLIP, careful) == 0
    sharp = Channel(np.array([[Fraction(9, 10), Fraction(1, 10)], [Fraction(1, 10), Fraction(9, 10)]]))
    assert gain.posterior(None, sharp, careful) == Fraction(6, 10)
    with pytest.raises(InvalidParameterError, match="worth more than 0 under the prior"):
        gain.multiplicative_leakage(None, sharp, careful)


def test_a_zero_that_floats_miss_is_no_negative_value():
    third = 1 / 3
    for table in ([[0.1, 0.2, -0.3]], [[-0.1, -0.2, 0.3]], [[0.3, -0.1, -0.2]], [[-0.3, 0.1, 0.2]]):
        assert gain.prior([third, third, third], table) == pytest.approx(0, abs=1e-15)
    with pytest.raises(InvalidParameterError, match="an action worth 0 or more"):
        gain.prior([third, third, third], [[0.1, 0.2, -0.3 - 1e-9]])


@pytest.mark.parametrize("verb", ASKING)
@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1, 0, 0]], "one column for each of 2 inputs"),
        ([1, 0], "gain must have 2 dimension"),
        ([[1, 0], [1]], "gain must be an array of numbers"),
        ([["a", "b"]], "gain must be an array of numbers"),
        ([[np.nan, 1.0]], "gain must have finite numbers only"),
        ([[-np.inf, 1.0]], "gain must have finite numbers only"),
        ([[]], "gain must have 2 dimension"),
        ([[1, -2]], "an action worth 0 or more"),
        ([[-1.0, -1.0]], "an action worth 0 or more"),
    ],
)
def test_what_is_no_gain_for_this_channel_is_refused(verb, table, message):
    with pytest.raises(InvalidParameterError, match=message):
        verb(None, FLIP, table)


def test_a_gain_that_is_negative_after_some_output_only_is_refused():
    revealing = Channel(np.array([[1.0, 0.0], [0.0, 1.0]]))
    table = [[3, -1]]
    assert gain.prior(None, table) == 1
    with pytest.raises(InvalidParameterError, match="an action worth 0 or more for every output"):
        gain.posterior(None, revealing, table)


# ---- capacity -------------------------------------------------------------------------------------------------------


def capacity_by_every_strategy(channel, table):
    """One linear program for each way to choose an action for every output."""
    matrix, worth = channel.matrix.astype(float), np.array(table, dtype=float)
    best = 0.0
    for actions in itertools.product(range(len(worth)), repeat=matrix.shape[1]):
        objective = sum(matrix[:, y] * worth[action] for y, action in enumerate(actions))
        best = max(best, -linprog(-objective, A_ub=worth, b_ub=np.ones(len(worth)), bounds=(0, None)).fun)
    return best


def test_the_capacity_is_the_best_of_all_strategies_and_priors():
    rng = np.random.default_rng(6)
    for _ in range(5):
        channel, table = random_channel(rng, 3, 3), rng.random((3, 3))
        assert gain.capacity(channel, table) == pytest.approx(capacity_by_every_strategy(channel, table), rel=1e-6)


def test_no_prior_leaks_more_than_the_capacity():
    rng = np.random.default_rng(7)
    found = gain.capacity(THREE, TABLE)
    leakages = [gain.multiplicative_leakage(belief, THREE, TABLE) for belief in rng.dirichlet(np.ones(3), 300)]
    assert 0.9 * found < max(leakages) <= found + 1e-6


def test_the_capacity_for_right_guesses_is_that_of_bayes_and_no_gain_has_more():
    assert gain.capacity(THREE, IDENTITY) == pytest.approx(float(bayes.capacity(THREE)), rel=1e-6)
    rng = np.random.default_rng(8)
    for _ in range(5):
        assert gain.capacity(THREE, rng.random((4, 3))) <= bayes.capacity(THREE) + 1e-6


def test_a_secret_that_nothing_is_gained_from_adds_nothing_to_the_capacity():
    assert gain.capacity(FLIP, [[1, 0]]) == 1
    assert gain.capacity(THREE, [[1, 0, 0], [0, 1, 0]]) == pytest.approx(
        float(bayes.capacity(Channel(THREE.matrix[:2]))), rel=1e-6
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1, -1], [0, 1]], "0 or more, and one above 0"),
        ([[0, 0]], "0 or more, and one above 0"),
        ([[1, 0, 0]], "one column for each"),
        (np.ones((6000, 2)), "at most 20000 triples .* bayes.capacity"),
    ],
)
def test_what_has_no_capacity_is_refused(table, message):
    with pytest.raises(InvalidParameterError, match=message):
        gain.capacity(FLIP, table)


def test_arguments_in_the_wrong_order_are_named():
    for verb in ASKING:
        with pytest.raises(InvalidParameterError, match="channel must be a Channel; got channel of type list"):
            verb(FLIP, [HALF, HALF], TABLE)
    with pytest.raises(InvalidParameterError, match="channel must be a Channel"):
        gain.capacity(TABLE, FLIP)


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
