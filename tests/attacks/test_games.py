"""Claims about orders inside groups: the honest shufflers stand, and the wrong composition falls."""

from dataclasses import replace

import numpy as np
import pytest

import shuffledp as sdp
from attacks.twins import TooConcentrated
from shuffledp.attacks import DEFAULT_TRIALS, NeighboringInputs, Verdict, audit
from shuffledp.attacks.place_games import SlotGame
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import DSigmaPrivacy
from shuffledp.protocols.d_sigma.theorems.meehan22 import d_sigma_statement
from shuffledp.randomness.permutations import compose, invert
from shuffledp.testing import SeededSource
from statistical.thresholds import SIGNIFICANCE

CERTAIN = 1 - SIGNIFICANCE
ORDER = [0, 2, 3, 1]
GROUPS = sdp.Groups.from_lists([[0, 2], [1], [0, 2], [3]])
TRUTHFUL = sdp.KaryRandomizedResponse(epsilon0=6.0, domain_size=3)


class WithoutTheOrder(sdp.MallowsShuffler):
    """The product in the wrong order: sigma_0 drops out of the law."""

    def moves(self, *, source=None):
        yield np.arange(4), self.draw_ranks(source=source)  # sigma_0^-1 after sigma_0


class OnTheWrongSide(sdp.MallowsShuffler):
    """The distance on the lists, where it belongs on their inverses."""

    def moves(self, *, source=None):
        order = self.prepare().order
        yield np.arange(4), compose(invert(order), compose(self.draw_ranks(source=source), order))


def audited(shuffler, *, trials=800, claim=None, **options):
    pipeline = sdp.Pipeline(randomizer=TRUTHFUL, shuffler=shuffler, analyzer=sdp.FrequencyAnalyzer())
    claim = claim or d_sigma_statement(pipeline.model(shuffler.groups.num_users))
    source = SeededSource(1)
    people = shuffler.groups.num_users
    options = {"num_users": people, "trials": trials, "confidence": CERTAIN, "source": source} | options
    return audit(pipeline, claim, **options).findings[0]


def mallows(kind=sdp.MallowsShuffler, **options):
    return kind(**{"groups": GROUPS, "alpha": 1.0, "order": ORDER, "per_block": False} | options)


@pytest.mark.parametrize(
    "shuffler",
    [
        mallows(),
        mallows(distance="cayley"),
        sdp.NoisySortShuffler(groups=GROUPS, alpha=1.0, order=ORDER),
        sdp.NoisySortShuffler(groups=GROUPS, alpha=1.0, noise="gaussian", delta=0.01, order=ORDER),
    ],
    ids=["kendall", "cayley", "laplace", "gaussian"],
)
def test_honest_shufflers_are_consistent_with_what_they_claim(shuffler):
    assert audited(shuffler).verdict is Verdict.CONSISTENT


def test_the_attack_comes_close_to_the_exact_loss():
    evidence = audited(mallows(), trials=1500).evidence
    assert 0.6 < evidence.epsilon_lower < 1.0 < evidence.epsilon_upper


@pytest.mark.parametrize("twin", [WithoutTheOrder, OnTheWrongSide])
def test_the_wrong_compositions_are_refuted(twin):
    finding = audited(mallows(twin))
    assert finding.verdict is Verdict.REFUTED
    assert finding.evidence.inputs.holders == ((0,), (2,))
    assert "d-sigma, alpha at most 1" in str(finding)


def test_a_concentration_that_is_twice_too_large_is_refuted_by_few_trials():
    twin = mallows(TooConcentrated)
    object.__setattr__(twin, "excess", 1.0)
    assert audited(twin).verdict is Verdict.REFUTED


@pytest.mark.deep
def test_a_concentration_that_is_a_fifth_too_large_is_refuted_with_the_default_trials():
    for seed in (1, 2):
        finding = audited(mallows(TooConcentrated), trials=None, source=SeededSource(seed), confidence=0.99)
        assert finding.verdict is Verdict.REFUTED
        assert 1.0 < finding.evidence.epsilon_lower <= 1.2
        assert finding.evidence.trials <= DEFAULT_TRIALS["d-sigma"]


def test_a_claim_of_half_the_loss_is_refuted():
    claim = d_sigma_statement(
        sdp.Pipeline(randomizer=TRUTHFUL, shuffler=mallows(), analyzer=sdp.FrequencyAnalyzer()).model(4)
    )
    half = replace(claim, guarantee=replace(claim.guarantee, alpha=0.5))
    assert audited(mallows(), claim=half).verdict is Verdict.REFUTED


def test_other_groups_groups_of_one_and_shufflers_without_groups_are_not_audited():
    claim = d_sigma_statement(
        sdp.Pipeline(randomizer=TRUTHFUL, shuffler=mallows(), analyzer=sdp.FrequencyAnalyzer()).model(4)
    )
    elsewhere = replace(claim, guarantee=DSigmaPrivacy(alpha=1.0, groups_digest="ff"))
    assert audited(mallows(), claim=elsewhere).reason == "The claim is about other groups than the shuffler's."
    singles = mallows(groups=sdp.Groups.from_labels(range(4)))
    assert audited(singles).verdict is Verdict.NOT_AUDITED
    pipeline = sdp.Pipeline(randomizer=TRUTHFUL, shuffler=sdp.UniformShuffler(), analyzer=sdp.FrequencyAnalyzer())
    (finding,) = audit(pipeline, claim, num_users=4, trials=100).findings
    assert "does not say which groups these are" in finding.reason


def test_who_holds_which_answer_is_the_audits_choice():
    with pytest.raises(InvalidParameterError, match="without holders"):
        audited(mallows(), inputs=NeighboringInputs(first=0, second=1, others=2, holders=((0,), (1,))))


# ---- one person's answer, where labels keep part of the order -------------------------------------------------------


def test_where_one_persons_report_lies_is_learned_and_used():
    """Of four people nearly in place, the own slot is known; the reference order has the first person first."""
    hardly = mallows(alpha=12.0)
    pipeline = sdp.Pipeline(randomizer=TRUTHFUL, shuffler=hardly, analyzer=sdp.FrequencyAnalyzer())
    game = SlotGame(pipeline=pipeline, num_users=4, source=SeededSource(1), progress=None)
    read = game.reading(NeighboringInputs(first=0, second=1, others=2))
    for which, sign in ((0, 1), (1, -1)):
        reports = sdp.Reports({"value": [which, 2, 2, 2]}, TRUTHFUL.model)
        view = sdp.View(reports=reports, labels=[0, 1, 2, 3], shuffle=hardly.model(4), source=SeededSource(1))
        assert sign * read([view])[0, SlotGame.scores.index("slots")] > 3


@pytest.mark.parametrize("concentrated", [True, False])
def test_of_a_uniform_order_the_score_of_slots_is_that_of_the_histogram(concentrated):
    shuffler = mallows(alpha=8.0 if concentrated else 1e-9, groups=sdp.Groups.from_lists([range(4)] * 4))
    pipeline = sdp.Pipeline(randomizer=TRUTHFUL, shuffler=shuffler, analyzer=sdp.FrequencyAnalyzer())
    game = SlotGame(pipeline=pipeline, num_users=4, source=SeededSource(1), progress=None)
    scores = game.play(NeighboringInputs(first=0, second=1, others=2), "first", 100)
    histogram, slots = (scores[:, SlotGame.scores.index(name)] for name in ("histogram", "slots"))
    assert (abs(histogram - slots).max() < 0.5) is not concentrated
