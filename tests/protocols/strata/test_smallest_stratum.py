"""Strata: the exact loss of small ones, by enumeration, is that of the smallest; and nothing stated is below it."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.accounting import THEOREMS, account, account_all, compose_releases, privacy_curve, renyi
from shuffledp.core.errors import HypothesisError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffleModel
from shuffledp.randomizers import KaryRandomizedResponse, LdpModel
from shuffledp.shufflers import UniformShuffleModel

NAMED = {theorem.id: theorem for theorem in THEOREMS}
UPPER, LOWER = NAMED["strata"], NAMED["strata-lower"]
EPSILONS = (0.0, 0.3, 0.8)


def protocol(sizes, *, epsilon0=1.0, domain_size=2, fakes=0):
    local = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=domain_size).model
    return ProtocolModel(local=local, shuffle=StratifiedShuffleModel(sizes=sizes)).with_fakes(fakes)


def uniform(people, *, epsilon0=1.0, domain_size=2):
    local = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=domain_size).model
    return ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=people))


def views(answers, sizes, channel):
    """Pr[view] for each view: how many reports of each value there are in each stratum."""
    law = {}
    starts = np.cumsum([0, *sizes])
    for reports in itertools.product(range(len(channel)), repeat=len(answers)):
        chance = Fraction(1)
        for answer, report in zip(answers, reports, strict=True):
            chance *= channel[answer][report]
        view = tuple(tuple(sorted(reports[start:stop])) for start, stop in itertools.pairwise(starts))
        law[view] = law.get(view, Fraction(0)) + chance
    return law


def exact_delta(sizes, channel, epsilon):
    """The largest delta over all data sets and all people, by enumeration of every view."""
    factor, values = Fraction(np.exp(epsilon)), range(len(channel))
    laws = {answers: views(answers, sizes, channel) for answers in itertools.product(values, repeat=sum(sizes))}
    worst = Fraction(0)
    for answers, law in laws.items():
        for person, other in itertools.product(range(len(answers)), values):
            another = laws[(*answers[:person], other, *answers[person + 1 :])]
            worst = max(worst, sum(max(law[view] - factor * another[view], Fraction(0)) for view in law))
    return float(worst)


def channel_of(model):
    return [[Fraction(float(chance)) for chance in row] for row in model.local.channel().matrix]


@pytest.mark.parametrize(("sizes", "domain_size"), [((2, 3), 2), ((2, 2, 2), 2), ((2, 2), 3), ((4, 1), 2)])
def test_the_exact_loss_of_strata_is_that_of_a_uniform_shuffle_of_the_smallest(sizes, domain_size):
    model = protocol(sizes, domain_size=domain_size)
    channel = channel_of(model)
    for epsilon in EPSILONS:
        exact = exact_delta(sizes, channel, epsilon)
        assert exact == pytest.approx(exact_delta((min(sizes),), channel, epsilon), rel=1e-12)
        stated = min(each.delta_at(model, epsilon=epsilon) for each in (UPPER, NAMED["local-dp"]))
        assert stated >= exact * (1 - 1e-12)
        assert LOWER.delta_at(model, epsilon=epsilon) <= exact * (1 + 1e-12)
        if domain_size == 2:  # exactly evaluated for a uniform shuffle
            assert stated == pytest.approx(exact, rel=1e-6, abs=1e-15)
        larger = exact_delta((max(sizes),), channel, epsilon)
        assert larger <= exact * (1 + 1e-12)  # more people never hide less


def test_a_bound_for_the_largest_or_for_everybody_would_be_broken():
    sizes, epsilon = (2, 4), 0.3
    exact = exact_delta(sizes, channel_of(protocol(sizes)), epsilon)
    for people in (4, 6):
        assert NAMED["binary-worst"].delta_at(uniform(people), epsilon=epsilon) < 0.95 * exact


@pytest.mark.parametrize(("domain_size", "delta"), [(2, 1e-6), (2, 1e-3), (4, 1e-6)])
def test_everything_stated_is_that_of_the_smallest_stratum(domain_size, delta):
    model = protocol((900, 300, 5000), domain_size=domain_size)
    smallest = uniform(300, domain_size=domain_size)
    for mine, theirs in zip(account_all(model, delta=delta), account_all(smallest, delta=delta), strict=True):
        assert (mine.guarantee, mine.kind.promises) == (theirs.guarantee, theirs.kind.promises)


def test_compositions_divergences_and_curves_are_those_of_the_smallest_stratum():
    both, delta = (protocol((900, 80, 5000)), uniform(80)), 1e-3
    mine, theirs = (compose_releases(each, delta=delta, num_releases=4).guarantee.epsilon for each in both)
    assert mine == pytest.approx(theirs, rel=1e-9)
    mine, theirs = (renyi(each, orders=[2, 8]).guarantee.epsilons for each in both)
    assert mine == pytest.approx(theirs, rel=1e-9)
    epsilons = np.linspace(0, 1, 9)
    mine, theirs = (privacy_curve(each, delta=delta)(epsilons) for each in both)
    assert mine == pytest.approx(theirs, rel=1e-9)


def test_a_randomizer_known_by_its_loss_alone_is_accounted_for_too():
    model = replace(protocol((500, 400)), local=LdpModel(epsilon0=1.0))
    smallest = replace(uniform(400), local=LdpModel(epsilon0=1.0))
    assert account(model, delta=1e-6).guarantee == account(smallest, delta=1e-6).guarantee


def test_fake_senders_may_all_be_in_the_smallest_stratum():
    found, honest = account(protocol((400, 300), fakes=50), delta=1e-6), account(uniform(250), delta=1e-6)
    assert found.guarantee == honest.guarantee
    assert account(protocol((400, 300)), delta=1e-6).guarantee.epsilon < found.guarantee.epsilon


def test_a_share_of_dishonest_people_may_all_be_in_the_smallest_stratum():
    found = account(protocol((400, 300)), delta=1e-6, honest_fraction=0.9)
    assert found.guarantee == account(uniform(230), delta=1e-6).guarantee


@pytest.mark.parametrize("model", [protocol((50, 1)), protocol((50, 30), fakes=29)])
def test_where_somebody_hides_among_nobody_the_local_guarantee_is_left(model):
    statement = account(model, delta=1e-6)
    assert statement.basis.theorem == "local-dp"
    assert statement.guarantee.epsilon == model.local.epsilon0
    assert "This is about the smallest of 2 strata" in str(statement)


def test_statements_name_the_smallest_stratum_and_what_it_takes_for_granted():
    statement = account(protocol((900, 300)), delta=1e-6)
    assert "the smallest of 2 strata, of 300 people; nobody's guarantee is weaker" in str(statement)
    assert "a public stratum for each person that does not depend on the answer" in str(statement)
    assumed = [each.name for each in statement.basis.hypotheses if each.is_assumed]
    assert assumed == ["fixed-strata"]
    assert statement.kind is Kind.UPPER_BOUND


def test_it_says_nothing_of_other_shuffles():
    for theorem in (UPPER, LOWER):
        assert not theorem.applies(uniform(300), delta=1e-6)
        with pytest.raises(
            HypothesisError, match="needs a uniform shuffle inside each stratum; got shuffler 'uniform'"
        ):
            theorem.state(uniform(300), delta=1e-6)
        assert theorem.delta(uniform(300), epsilon=0.5) == (1.0 if theorem is UPPER else 0.0)
