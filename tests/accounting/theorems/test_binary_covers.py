"""The cover as a theorem: what it is stated about, and what it refuses by which hypothesis."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from accounting.given import GivenChannel, GivenLoss
from shuffledp.accounting import THEOREMS, account, bracket, compose_releases, delta_at, examine
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Kind, Status
from shuffledp.randomizers import KaryRandomizedResponse, OptimizedUnaryEncoding
from shuffledp.shufflers import IdentityShuffler

NAMED = {theorem.id: theorem for theorem in THEOREMS}
COVER = NAMED["binary-cover"]


def protocol(local, users, **shuffle):
    described = {"kind": "uniform", "num_users": users, **shuffle}
    return ProtocolModel(local=local, shuffle=ShuffleModel.from_dict(described))


def binary(epsilon0, users):
    return protocol(KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2).model, users)


@pytest.mark.parametrize(
    ("users", "epsilon0", "stated", "before"),
    [(30_000, 4.0, 0.1661, 0.2258), (10**6, 4.0, 0.02402, 0.03429), (10**5, 2.0, 0.02467, 0.03319)],
)
def test_yes_no_questions_of_many_people_lose_a_quarter_less_than_the_blanket_says(users, epsilon0, stated, before):
    model = binary(epsilon0, users)
    own = account(model, delta=1e-6)
    assert own.basis.theorem == "binary-cover"
    assert own.kind is Kind.UPPER_BOUND
    assert own.basis.status is Status.OWN_PROOF
    assert own.guarantee.epsilon == pytest.approx(stated, rel=4e-4)
    assert account(model, delta=1e-6, published_only=True).basis.status is Status.PUBLISHED
    assert NAMED["blanket-two-level"].epsilon(model, delta=1e-6) == pytest.approx(before, rel=4e-4)
    found = bracket(model, delta=1e-6)
    assert found.upper <= found.lower * 1.001


def test_it_has_a_row_of_its_own_among_the_theorems():
    listed = {each.theorem: each for each in examine(binary(4.0, 30_000), delta=1e-6, with_theorems=True).theorems}
    assert listed["binary-cover"].epsilon == pytest.approx(0.1661, rel=1e-3)


@pytest.mark.parametrize(("truth", "lie", "users", "delta"), [(0.271, 0.0017, 3307, 4.4e-3), (0.99, 0.5, 100, 1e-6)])
def test_of_a_lopsided_question_to_few_people_no_more_is_stated_than_the_blanket_says(truth, lie, users, delta):
    """Mutant: the tolerance of many people, 1e-3 of delta, which the blanket undercuts where it is nearly exact."""
    model = protocol(GivenChannel(rows=((truth, 1 - truth), (lie, 1 - lie))), users)
    blanket = NAMED["blanket-channel"].epsilon(model, delta=delta)
    assert account(model, delta=delta).guarantee.epsilon <= blanket * (1 + 1e-6)


def test_up_to_ten_thousand_people_what_is_exact_stays_what_is_stated():
    assert account(binary(1.0, 10_000), delta=1e-6).basis.theorem == "binary-worst"
    refused = [each for each in COVER.hypotheses(binary(1.0, 10_000), delta=1e-6) if not each.holds]
    assert [each.name for each in refused] == ["covered-users"]


def test_a_lopsided_channel_is_covered_in_both_directions():
    """Mutant: one direction. Enumerated: both directions of all data sets of 30 people."""
    model = protocol(GivenChannel(rows=((0.5, 0.5), (0.1, 0.9))), 30)
    law = []
    for ones in range(30):
        others = np.ones(1)
        for chance in [0.5] * ones + [0.1] * (29 - ones):
            others = np.convolve(others, [1 - chance, chance])
        one, other = (np.convolve(others, [1 - chance, chance]) for chance in (0.5, 0.1))
        law.append([np.maximum(one - 1.2 * other, 0).sum(), np.maximum(other - 1.2 * one, 0).sum()])
    exact = np.array(law).max(axis=0)
    found = delta_at(model, epsilon=float(np.log(1.2)))
    assert found.basis.theorem == "binary-cover"
    assert exact.max() <= found.guarantee.delta <= exact.max() * 1.0011
    assert exact.min() < 0.97 * exact.max()


@pytest.mark.deep
def test_releases_add_up_over_the_covers_curve():
    model = binary(4.0, 10**6)
    own = compose_releases(model, num_releases=10, delta=1e-6)
    published = compose_releases(model, num_releases=10, delta=1e-6, published_only=True)
    assert own.guarantee.epsilon < 0.75 * published.guarantee.epsilon
    assert own.guarantee.epsilon > account(model, delta=1e-6).guarantee.epsilon


@pytest.mark.deep
def test_a_hundred_columns_of_a_million_people_have_the_losses_that_a_fine_grid_finds():
    """Mutant: a grid over [-epsilon0, epsilon0], which triples the variance. Below lies the limit of many people."""
    total = compose_releases(binary(6.29, 10**6), num_releases=100, delta=1e-6).guarantee.epsilon
    limit = NormalDist()
    mu = 10 * 2 * np.sinh(6.29 / 2) / 1000
    delta = limit.cdf(mu / 2 - total / mu) - np.exp(total) * limit.cdf(-mu / 2 - total / mu)
    assert 0.6e-6 < delta < 1e-6


@pytest.mark.parametrize(
    ("model", "failing"),
    [
        (protocol(GivenLoss(loss=1.0), 10**5), "two-by-two"),
        (protocol(OptimizedUnaryEncoding(epsilon0=1.0, domain_size=2).model, 10**5), "two-by-two"),
        (protocol(GivenChannel(rows=((0.5, 0.5), (0.5, 0.5))), 10**5), "two-by-two"),
        (protocol(GivenChannel(rows=((0.5, 0.5), (0.0, 1.0))), 10**5), "moderate-epsilon0"),
        (replace(binary(1.0, 10**5), shuffle=IdentityShuffler().model(10**5)), "uniform-shuffle"),
        (binary(1.0, 1), "several-users"),
        (binary(1.0, 10**16), "covered-users"),
        (protocol(GivenChannel(rows=((0.7, 0.3), (0.3, 0.7)), claim=2.0), 10**5), "two-by-two"),
    ],
)  # fmt: skip
def test_each_hypothesis_that_fails_is_named_and_nothing_is_said(model, failing):
    assert failing in [each.name for each in COVER.hypotheses(model, delta=1e-6) if not each.holds]
    assert COVER.delta(model, epsilon=0.1) == 1.0
    assert COVER.epsilon(model, delta=1e-6) == model.local.epsilon0


def test_the_people_who_collude_or_are_fake_hide_nobody():
    half = account(binary(4.0, 60_000), delta=1e-6, honest_fraction=0.5).guarantee.epsilon
    assert half == pytest.approx(account(binary(4.0, 30_000), delta=1e-6).guarantee.epsilon, rel=1e-9)
