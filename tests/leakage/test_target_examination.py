"""Everything in one call, and the capacity: against many beliefs about one person."""

from itertools import product

import numpy as np
import pytest

from shuffledp.core.channels import Channel
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.leakage import best_guesses, examine_target, target_capacity, target_vulnerability
from shuffledp.protocols.shares.shufflers.imperfect import imperfect_shuffler
from shuffledp.randomizers import ChannelModel, model_of_kind
from shuffledp.shufflers import IdentityShuffleModel, UniformShuffleModel


@pytest.mark.parametrize("others", [None, (0.2, 0.3, 0.5), (0.0, 0.4, 0.6)])
def test_no_belief_about_the_person_gains_more_than_the_capacity_and_the_uniform_one_gains_that(others):
    model = protocol(3)
    prior = (1 / 3, 1 / 3, 1 / 3) if others is None else others
    found = target_capacity(model, prior=others)
    channel = np.array(list(beliefs(model, prior).values())).T
    possible = np.array(prior) > 0
    channel = channel[possible] / np.array(prior)[possible][:, None]
    factors = [
        (belief[:, None] * channel).max(axis=0).sum() / belief.max()
        for belief in np.random.default_rng(1).dirichlet(np.ones(possible.sum()), 200)
    ]
    assert max(factors) <= found.value + 1e-12
    assert channel.max(axis=0).sum() == pytest.approx(found.value, abs=1e-12)
    assert found.kind is Kind.EXACT


def test_a_capacity_counts_what_the_others_hardly_ever_hold():
    """Nobody else holds the second value but for a miracle, and reports tell the two values apart but for as much."""
    rare = 1e-310
    local = ChannelModel(matrix=Channel([[1 - rare, rare], [0.5, 0.5]]))
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=6))
    assert target_capacity(model, prior=(1 - rare, rare)).value == pytest.approx(1.5, abs=1e-12)


def test_a_capacity_without_a_known_law_of_places_is_of_the_uniform_prior_only():
    local = protocol(2).local
    shuffle = imperfect_shuffler(imperfection=1.0, construction="delay").model(30)
    model = ProtocolModel(local=local, shuffle=shuffle)
    assert target_capacity(model).kind is Kind.UPPER_BOUND
    with pytest.raises(UnsupportedModelError, match="law of places"):
        target_capacity(model, prior=(0.2, 0.3, 0.5))
    assert examine_target(model, prior=(0.2, 0.3, 0.5)).capacity is None


@pytest.mark.parametrize("adversary", ["uninformed", "strong"])
def test_an_examination_is_made_of_its_parts(adversary):
    model, prior = protocol(4), (0.2, 0.3, 0.5)
    found = examine_target(model, prior=prior, adversary=adversary, compare=True)
    assert found.found == target_vulnerability(model, prior=prior, adversary=adversary)
    assert found.capacity == target_capacity(model, prior=prior, adversary=adversary)
    assert (found.guesses is None) == (adversary == "strong")
    assert getattr(found.comparison.way("both"), adversary) == found.found
    assert examine_target(model).comparison is None
    assert found.capacity.value >= found.found.multiplicative_leakage


def test_a_capacity_for_a_gain_is_that_of_every_gain():
    gain = [[1, 0, 0], [0, 1, 1]]
    found = examine_target(protocol(4), gain=gain)
    assert found.capacity == target_capacity(protocol(4))
    assert 1 < found.found.multiplicative_leakage <= found.capacity.value
    assert found.to_dict()["counts_right"] is False


def protocol(people, size=3, shuffle=UniformShuffleModel):
    local = model_of_kind("k-rr", epsilon0=1.0, domain_size=size)
    return ProtocolModel(local=local, shuffle=shuffle(num_users=people))


def beliefs(model, prior):
    """Pr(value of person 0, histogram of all reports), over all lists of reports."""
    matrix = np.array(model.local.channel().matrix, dtype=float)
    law, found = np.array(prior) @ matrix, {}
    for reports in product(range(matrix.shape[1]), repeat=model.num_users):
        joint = np.array(prior) * matrix[:, reports[0]] * np.prod(law[list(reports[1:])])
        seen = tuple(np.bincount(reports, minlength=matrix.shape[1]).tolist())
        found[seen] = found.get(seen, 0) + joint
    return found


@pytest.mark.parametrize("prior", [(1 / 3, 1 / 3, 1 / 3), (0.2, 0.3, 0.5)])
@pytest.mark.parametrize("gain", [None, [[1, 0, 0], [0, 1, 1]]])
def test_best_guesses_are_those_of_bayes_rule(prior, gain):
    model, table = protocol(3), np.eye(3) if gain is None else np.array(gain)
    expected, found = beliefs(model, prior), best_guesses(model, prior=prior, gain=gain)
    assert {guess.seen for guess in found} == set(expected)
    for guess in found:
        joint = expected[guess.seen]
        assert guess.probability == pytest.approx(joint.sum(), abs=1e-12)
        assert guess.worth == pytest.approx((table @ joint).max() / joint.sum(), abs=1e-12)
        as_good = np.flatnonzero(table @ joint > (table @ joint).max() - 1e-12 * joint.sum()).tolist()
        assert [guess.guess, *guess.tied] == as_good
    average = sum(guess.probability * guess.worth for guess in found)
    assert average == pytest.approx(target_vulnerability(model, prior=prior, gain=gain).value, abs=1e-12)


def test_without_a_shuffle_one_report_is_all_that_counts():
    found = best_guesses(protocol(1000, shuffle=IdentityShuffleModel))
    assert [(guess.seen, guess.guess) for guess in found] == [((1, 0, 0), 0), ((0, 1, 0), 1), ((0, 0, 1), 2)]
    assert found[0].worth == pytest.approx(protocol(1).local.p)


def test_what_never_comes_is_not_listed():
    local = ChannelModel(matrix=Channel([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]))
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=2))
    assert all(guess.probability > 0 for guess in best_guesses(model, prior=[1.0, 0.0]))
    assert [guess.seen[0] for guess in best_guesses(model, prior=[1.0, 0.0])] == [2]


def test_too_many_and_other_shuffles_are_not_listed():
    assert len(best_guesses(protocol(59, size=2))) == 60
    assert best_guesses(protocol(60, size=2)) is None
    assert best_guesses(protocol(10**9)) is None
    local = protocol(2).local
    assert best_guesses(ProtocolModel(local=local, shuffle=imperfect_shuffler(imperfection=1.0).model(3))) is None
