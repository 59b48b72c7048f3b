"""Charges of releases are certified from above, and whatever fits a budget of them keeps its cap."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from shuffledp import KaryRandomizedResponse, ProtocolModel, UniformShuffler
from shuffledp.accounting import account, compose_releases, privacy_curve
from shuffledp.accounting.gaussian_charges import (
    charge_of,
    epsilon_of_charges,
    gaussian_delta,
    pure_charge,
    squares_within,
)
from shuffledp.core.errors import InvalidParameterError

VALUES = json.loads((Path(__file__).parents[1] / "golden" / "budget.json").read_text(encoding="utf-8"))


def shuffled(num_users, size, epsilon0):
    local = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=size).model
    return ProtocolModel(local=local, shuffle=UniformShuffler().model(num_users))


CHARGES = VALUES["gdp_charge"]["rows"]
COSTLY = [pytest.param(*row, marks=pytest.mark.deep) for row in CHARGES if row[0] != 100 and row[1] != 16]


@pytest.mark.parametrize(
    ("num_users", "size", "epsilon0", "remainder", "low", "high"),
    [*COSTLY, *(row for row in CHARGES if row[0] == 100 or row[1:3] == [16, 2.0])],
)
def test_a_release_is_charged_what_was_computed_independently(num_users, size, epsilon0, remainder, low, high):  # noqa: PLR0917
    found = charge_of(shuffled(num_users, size, epsilon0), remainder=remainder)
    assert low <= high
    assert found <= high * (1 + 1e-3)
    if size > 2:  # two answers have an exact curve, below that of the blanket which was recorded
        assert found >= low * (1 - 1e-6)


@pytest.mark.parametrize(("squares", "remainders", "delta", "epsilon"), VALUES["gdp_epsilon"]["rows"])
def test_charges_together_lose_what_was_computed_independently(squares, remainders, delta, epsilon):
    assert epsilon_of_charges(squares, remainders, delta=delta) == pytest.approx(epsilon, rel=1e-7)


@pytest.mark.parametrize(("epsilon", "mu"), VALUES["gdp_of_pure"]["rows"])
def test_a_pure_loss_is_charged_its_closed_form(epsilon, mu):
    assert pure_charge(epsilon) == pytest.approx(mu, rel=1e-8)
    assert pure_charge(epsilon) >= mu


@pytest.mark.parametrize(
    ("num_users", "size", "epsilon0"), [(30, 3, 1.0), pytest.param(1000, 10, 3.0, marks=pytest.mark.deep)]
)
def test_the_charge_lies_above_the_curve_everywhere_and_hardly_more(num_users, size, epsilon0):
    """Mutant: a charge one part in a hundred smaller is below the curve somewhere."""
    model, remainder = shuffled(num_users, size, epsilon0), 1e-9
    mu = charge_of(model, remainder=remainder)
    reach = account(model, delta=remainder).guarantee.epsilon
    epsilons = np.linspace(0, reach * 1.1, 1117)  # not the grid of the certificate
    curve = privacy_curve(model, delta=remainder)(epsilons)

    def fits(parameter):
        return bool(np.all(curve <= (remainder + (1 - remainder) * gaussian_delta(parameter, epsilons)) * (1 + 1e-9)))

    assert fits(mu)
    assert not fits(mu * 0.99)


def test_a_year_chosen_as_it_goes_costs_hardly_more_than_one_settled_beforehand():
    """52 weeks of 16 answers of 10,000 people: .5592 settled beforehand, .5598 chosen, 3.51 added up."""
    model = shuffled(10_000, 16, 2.0)
    mu = charge_of(model, remainder=1e-10)
    chosen = epsilon_of_charges(52 * mu**2, 52 * 1e-10, delta=1e-6)
    settled = compose_releases(model, delta=1e-6, num_releases=52).guarantee.epsilon
    assert settled <= chosen <= 0.5600
    assert settled >= 0.5585


def test_the_budget_of_a_cap_is_used_up_exactly_at_the_cap():
    squares = squares_within(1.0, 2e-7, delta=1e-5)
    assert epsilon_of_charges(squares, 2e-7, delta=1e-5) <= 1.0
    assert epsilon_of_charges(squares * 1.0001, 2e-7, delta=1e-5) > 1.0


def test_charges_of_nothing_and_of_everything_are_told():
    assert pure_charge(0.0) == 0.0
    assert pure_charge(1e4) == math.inf
    assert epsilon_of_charges(0.0, 0.0, delta=1e-6) == 0.0
    assert epsilon_of_charges(1.0, 1e-6, delta=1e-6) == math.inf
    with pytest.raises(InvalidParameterError, match="remainder"):
        charge_of(shuffled(10, 2, 1.0), remainder=0.0)


def test_stopping_by_the_composed_curve_of_what_was_released_is_no_filter():
    """The counterexample: each branch composes to delta 2/9 at epsilon log 2, and the whole process to 8/27."""
    ((first, second, together),) = [map(Fraction, row) for row in VALUES["adaptive_curve_filter"]["rows"]]
    two, one = Fraction(2, 3), Fraction(1, 3)
    reveal = Fraction(2, 9)

    def hockey(pairs):
        return sum((max(p - 2 * q, 0) for p, q in pairs), Fraction(0))

    answer = [(two, one), (one, two)]  # a response of ratio 2
    shown = [(reveal, 0), (0, reveal), (1 - reveal, 1 - reveal)]
    assert hockey([(a * c, b * d) for (a, b), (c, d) in itertools.product(answer, answer)]) == first
    assert hockey([(a * c, b * d) for (a, b), (c, d) in itertools.product(answer, shown)]) == second
    process = [(two * c, one * d) for c, d in answer] + [(one * c, two * d) for c, d in shown]
    assert hockey(process) == together > first


def tree(rng, budget, depth):
    """Laws of a random adaptive process of responses whose squared charges stay within a budget."""
    if depth == 0:
        return [(1.0, 1.0)]
    epsilon = float(rng.uniform(0.05, 1.5))
    spent = pure_charge(epsilon) ** 2
    if spent > budget:
        return [(1.0, 1.0)]
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    yes, no = tree(rng, budget - spent, depth - 1), tree(rng, budget - spent, depth - 1)
    return [(truth * p, (1 - truth) * q) for p, q in yes] + [((1 - truth) * p, truth * q) for p, q in no]


def test_whoever_chooses_each_release_after_the_last_never_gets_past_the_cap():
    """300 random processes of up to five responses, chosen by the answers so far; power: with a threefold budget."""
    rng, cap, delta = np.random.default_rng(7), 1.0, 0.05
    budget, passed = squares_within(cap, 0.0, delta=delta), 0
    for _ in range(300):
        lost = sum(max(p - math.exp(cap) * q, 0.0) for p, q in tree(rng, budget, 5))
        assert lost <= delta * (1 + 1e-9)
        more = sum(max(p - math.exp(cap) * q, 0.0) for p, q in tree(rng, 3 * budget, 5))
        passed += more > delta
    assert passed > 20
