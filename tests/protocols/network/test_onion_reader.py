"""Colluders and reports in layers: what they follow and read, and claims that fall where layers are not there."""

import math

import numpy as np
import pytest

import shuffledp as sdp
from attacks.twins import walking
from protocols.network.test_walk_games import DELTA, INPUTS, audited
from shuffledp.accounting import account
from shuffledp.attacks import Verdict
from shuffledp.protocols.network.attacks.walk_games import CollusionGame, OnionReader, SightingReader, colluders_beside
from shuffledp.testing import SeededSource

BINARY = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
ONES = {"value": np.array([1, 0, 0, 0, 0])}


def onions(rounds, *, people=5, **options):
    shape = {"graph": sdp.Overlay(people, (people,)), "num_rounds": rounds, "protocol": "all"}
    return walking(**shape, **{"onion": True, "num_colluding": 2} | options)


def scores(trace, *, rounds):
    """Of the onion's and of recognized reports, where 3 and 4 collude, and report 0 is a one and all others zeros."""
    found = []
    for reader, onion in ((OnionReader, True), (SightingReader, False)):
        shuffler = onions(rounds, num_colluding=0, colluders=(3, 4), onion=onion).shuffler
        found.append(reader(shuffler, BINARY, INPUTS).score(ONES, np.array([range(5), *trace])))
    return found


def test_a_report_that_never_leaves_colluders_is_read():
    onion, plain = scores([(3, 1, 2, 3, 4), (4, 2, 1, 3, 4)], rounds=2)
    assert onion == pytest.approx(-1.0)
    assert plain == pytest.approx(-1.0)


def test_one_that_an_honest_person_has_passed_on_is_among_all_that_she_passes_on():
    """The owner passes it to a colluder, who passes it to person 1, who holds report 1 too, and hands in both."""
    onion, plain = scores([(3, 2, 1, 3, 4), (1, 1, 2, 3, 4)], rounds=2)
    assert plain < -0.9
    assert -0.5 < onion < 0


def test_a_lone_honest_relay_who_holds_nothing_else_hides_nothing():
    onion, _ = scores([(3, 2, 2, 3, 4), (1, 2, 2, 3, 4)], rounds=2)
    assert onion == pytest.approx(-1.0, abs=1e-6)


def test_what_was_hidden_in_the_first_round_may_be_any_of_those_that_were():
    """Reports 0, 1 and 2 change hands among honest people; the bags in the end are all that tells."""
    onion, _ = scores([(1, 2, 0, 3, 4), (3, 4, 0, 3, 4)], rounds=2)
    assert onion == pytest.approx(math.log((2 * math.e + 1 * math.e**2) / (2 * math.e**2 + math.e)), abs=0.7)
    assert abs(onion) < 0.5


def test_named_colluders_are_those_who_collude_and_nobody_asks_about_them():
    pipeline = onions(2, num_colluding=0, colluders=(0, 3))
    assert colluders_beside(pipeline.shuffler, 1) == (0, 3)
    game = CollusionGame(pipeline=pipeline, num_users=5, source=SeededSource(1), progress=None)
    assert {each.person for each in game.different([INPUTS])} == {1}


@pytest.mark.deep
def test_the_claim_of_onions_holds_and_falls_where_reports_are_recognized_or_rounds_are_missing():
    options = {"people": 60, "epsilon0": 2.0, "num_colluding": 18}
    honest = onions(11, **options)
    claim = account(honest.model(60), delta=DELTA)
    assert claim.basis.theorem == "network-onion"
    assert audited(honest, claim, trials=400, confidence=0.99).verdict is Verdict.CONSISTENT
    for twin in (onions(11, **options, onion=False), onions(1, **options)):
        finding = audited(twin, claim, trials=400, confidence=0.99)
        assert finding.verdict is Verdict.REFUTED
        assert finding.evidence.attack in {"sightings", "bags-and-sightings"}
