"""What a report by itself tells: how often the best guess is right, against every law written out."""

import math

import numpy as np
import pytest

from shuffledp.core.lone_reports import lone_guess
from shuffledp.leakage import bayes
from shuffledp.planning import calibrate
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix
from shuffledp.randomizers import model_of_kind
from shuffledp.randomizers.descriptions import ChannelModel, LdpModel, PersonalizedResponseModel

CATEGORIES = ("k-rr", "oue", "sue", "subset", "hadamard")


@pytest.mark.parametrize("kind", CATEGORIES)
@pytest.mark.parametrize("size", [2, 3, 4, 7])
@pytest.mark.parametrize("epsilon0", [0.3, 3.0, 8.0])
def test_the_best_guess_among_categories_is_that_of_the_whole_matrix(kind, size, epsilon0):
    local = model_of_kind(kind, epsilon0=epsilon0, domain_size=size)
    found = lone_guess(local)
    assert found.relation == "exactly"
    assert found.chance == pytest.approx(float(bayes.posterior(None, local.channel())), rel=1e-12)


def test_the_report_of_randomized_response_is_the_answer_as_often_as_its_model_says():
    local = model_of_kind("k-rr", epsilon0=8.34, domain_size=4)
    found = lone_guess(local)
    assert found.chance == pytest.approx(local.p, rel=1e-12)
    assert (
        found.sentence
        == "A report by itself is the true answer 99.9% of the time, if all 4 answers are equally likely."
    )


@pytest.mark.parametrize(("size", "epsilon0"), [(2, 1.0), (2, 5.0), (6, 1.0), (6, 3.0)])
def test_the_bound_of_local_hashing_is_above_what_drawn_functions_tell_and_close(size, epsilon0):
    local = model_of_kind("olh", epsilon0=epsilon0, domain_size=size)
    found, numbers = lone_guess(local), np.random.default_rng(3)
    seeds = numbers.integers(local.num_seeds, size=20_000, dtype=np.uint64)
    hashed = np.array([local.hashed(np.full(len(seeds), value), seeds) for value in range(size)])
    distinct = np.mean([len(set(column)) for column in hashed.T.tolist()])
    odds = math.expm1(local.epsilon0)
    seen = (1 + distinct / local.hash_range * odds) / (1 + odds / local.hash_range) / size
    assert found.relation == ("exactly" if size == 2 else "at most")
    assert (seen - 0.005 if size == 2 else seen) <= found.chance <= seen + (0.005 if size == 2 else 0.15)


@pytest.mark.parametrize("kind", ["laplace-mean", "one-bit-mean", "rounded-mean"])
@pytest.mark.parametrize("epsilon0", [1.0, 6.0])
def test_numbers_are_guessed_between_the_ends_of_their_range(kind, epsilon0):
    local = model_of_kind(kind, epsilon0=epsilon0, lower=0, upper=10, **({"num_steps": 7} if "lap" in kind else {}))
    reports = (
        np.arange(-300, 310) if kind == "laplace-mean" else np.arange(2 if "one" in kind else local.num_levels + 1)
    )
    logs = [local.log_likelihood({"value": reports}, float(end)) for end in (0, 10)]
    laws = [np.exp(each - np.logaddexp.reduce(each)) for each in logs]
    found = lone_guess(local)
    assert found.chance == pytest.approx(np.maximum(*laws).sum() / 2, rel=1e-9)
    assert (found.relation, found.among) == ("exactly", 2)
    assert found.sentence.startswith("Whether an answer was the least or the largest one is guessed right")


def test_vectors_are_guessed_between_opposite_ones():
    local = model_of_kind("priv-unit", epsilon0=4.0, dimension=5)
    in_opposite = (1 - local.p) * local.two_level.share / (1 - local.two_level.share)
    assert lone_guess(local).chance == pytest.approx((1 + local.p - in_opposite) / 2, rel=1e-8)


def test_laws_that_are_described_alone_have_their_exact_guess_or_a_bound():
    flip = model_of_kind("k-rr", epsilon0=2.0, domain_size=3)
    assert lone_guess(ChannelModel(matrix=flip.channel())).chance == pytest.approx(flip.p)
    assert lone_guess(LdpModel(epsilon0=2.0)).chance == pytest.approx(1 / (1 + math.exp(-2)))
    assert lone_guess(LdpModel(epsilon0=2.0)).relation == "at most"
    assert lone_guess(LdpModel(epsilon0=math.inf)).chance == 1.0
    assert lone_guess(model_of_kind("laplace", epsilon0=2.0)).chance == pytest.approx(1 - math.exp(-1) / 2)
    people = PersonalizedResponseModel.from_epsilons(domain_size=4, epsilons=[1.0, 2.0])
    assert lone_guess(people).chance >= flip.p


def test_single_messages_of_split_and_mix_tell_nothing():
    solved = calibrate.split_and_mix(epsilon=1.0, delta=1e-6, num_users=1000, lower=0, upper=1)
    assert isinstance(solved, SplitAndMix)
    assert lone_guess(solved.model) is None


@pytest.mark.parametrize(("epsilon0", "said", "warned"), [(3.0, False, False), (3.1, True, False), (5.1, True, True)])
def test_it_is_said_above_three_and_a_warning_above_five(epsilon0, said, warned):
    local = model_of_kind("k-rr", epsilon0=epsilon0 - 1e-9, domain_size=2)
    found = lone_guess(local)
    assert (found.is_said, bool(found.warning)) == (said, warned)
    assert bool(local.warnings) is warned
    assert not warned or found.sentence in local.warnings[0]
