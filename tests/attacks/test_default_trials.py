"""Every pipeline broken in one of the ways that an audit is for is refuted with the default trials, by what is stated.

Nothing is said but the pipeline, the statement about it and the number of people: trials, confidence and data sets are
those of an audit that is not told anything.
"""

import numpy as np
import pytest

import shuffledp as sdp
from attacks import test_games
from attacks.twins import (
    InArrivalOrder,
    InOneOrder,
    NoNoise,
    OneRoundEarly,
    SameOrderInEveryRound,
    TooConcentrated,
    TooTruthful,
    pipeline,
    walking,
)
from protocols.shares import test_share_game as shares
from shuffledp.accounting import account, account_all
from shuffledp.attacks import DEFAULT_TRIALS, Verdict, audit
from shuffledp.protocols.d_sigma.theorems.meehan22 import d_sigma_statement
from shuffledp.testing import SeededSource


def mallows(twin):
    """Groups at alpha = 1, with reports that hardly hide anything themselves."""
    shuffler = test_games.mallows(twin)
    played = sdp.Pipeline(randomizer=test_games.TRUTHFUL, shuffler=shuffler, analyzer=sdp.FrequencyAnalyzer())
    return played, d_sigma_statement(played.model(4)), 4


def thresholds():
    played = pipeline(TooTruthful(epsilon0=1.0, domain_size=10))
    return played, account_all(played.model(1000), delta=1e-6)[-1], 1000


def rows(shuffler):
    played = pipeline(shuffler=shuffler)
    return played, account(played.model(1000), delta=1e-6), 1000


def early():
    """The only round is skipped, among thirty people who all know each other."""
    graph = sdp.Graph.from_edges([(one, other) for one in range(30) for other in range(one)])
    played = walking(OneRoundEarly, graph=graph, num_rounds=1)
    return played, account(played.model(30), delta=0.05), 30


def split(randomizer=shares.HONEST, shuffler=None):
    shuffler = shuffler or sdp.ParallelShuffler(shares.MIXED, randomizer.model.num_messages)
    played = sdp.Pipeline(randomizer=randomizer, shuffler=shuffler, analyzer=sdp.SumAnalyzer())
    return (
        played,
        account_all(played.model(shares.PEOPLE), delta=shares.DELTA)[0],
        shares.PEOPLE,
    )


DEEP = {"marks": pytest.mark.deep}
CASES = [
    pytest.param(lambda: mallows(test_games.WithoutTheOrder), id="Mallows: reference order lost", **DEEP),
    pytest.param(lambda: mallows(test_games.OnTheWrongSide), id="Mallows: distance on the wrong side", **DEEP),
    pytest.param(lambda: mallows(TooConcentrated), id="Mallows: concentration a fifth too large", **DEEP),
    pytest.param(thresholds, id="k-RR: threshold a fifth too high"),
    pytest.param(lambda: rows(InArrivalOrder()), id="uniform: order of arrival", **DEEP),
    pytest.param(lambda: rows(InOneOrder(lambda people: np.arange(people)[::-1])), id="uniform: reversed", **DEEP),
    pytest.param(early, id="network: the only round skipped", **DEEP),
    pytest.param(lambda: split(NoNoise.from_model(shares.HONEST.model)), id="shares: no noise", **DEEP),
    pytest.param(
        lambda: split(shuffler=SameOrderInEveryRound(shares.MIXED, shares.HONEST.num_messages)),
        id="shares: one permutation in every round",
        **DEEP,
    ),
]


@pytest.mark.parametrize("case", CASES)
def test_the_twin_is_refuted_with_the_default_trials(case):
    played, claim, people = case()
    (finding,) = audit(played, claim, num_users=people, source=SeededSource(6)).findings
    assert finding.verdict is Verdict.REFUTED
    assert finding.evidence.training_trials in {trials // 2 for trials in DEFAULT_TRIALS.values()}
