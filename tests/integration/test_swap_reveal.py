"""Swap reveal: an estimate that says so, near the sum over all allocations, and never the accountant's answer."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments are run from a checkout and never installed

from experiments.network.swap_reveal import SwapReveal, shares_of_places

from shuffledp.accounting import THEOREMS
from shuffledp.accounting.theorems.clone_pairs import StrongPair
from shuffledp.core.errors import HypothesisError, InvalidParameterError
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.randomizers import KaryRandomizedResponse, LdpModel
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.testing import SeededSource
from soundness.exact_walks import positions, stationary

BINARY = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model


def reveal(laws, **others):
    return SwapReveal(
        **{"local": BINARY, "laws": laws, "victim": 0, "samples": 50, "source": SeededSource(1), **others}
    )


@pytest.mark.parametrize(("name", "value"), [("K3", 0.32297), ("P3", 0.28679), ("paw", 0.30126)])
def test_samples_are_near_the_sum_over_all_allocations(name, value):
    found, error = reveal(positions(name, 1), samples=1500).delta(0.3)
    assert abs(found - value) < 4.5 * error + 1e-3
    assert error < 0.005
    assert abs(found - value * 1.1) > 4.5 * error


def test_with_one_law_for_all_it_is_the_uniform_bound():
    laws = np.full((400, 400), 1 / 400)
    found = reveal(laws, samples=30).delta(0.2)[0]
    stated = StrongPair().delta(
        ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=UniformShuffleModel(num_users=400)), epsilon=0.2
    )
    assert found == pytest.approx(stated, rel=0.25)


def test_the_statement_is_an_estimate():
    statement = reveal(stationary("K5")).state(delta=0.05)
    assert statement.kind is Kind.ESTIMATE
    assert not statement.kind.promises
    assert statement.basis.theorem == "swap-reveal"
    assert "one in 50" in statement.remarks[0]
    assert "estimate" in str(statement)
    assert 0.5 < statement.guarantee.epsilon < 1
    assert all(theorem.id != "swap-reveal" for theorem in THEOREMS)


def test_clones_are_rarer_for_what_is_not_binary():
    assert reveal(stationary("K3")).clone_chance == pytest.approx(2 / (1 + math.e))
    for local in (LdpModel(epsilon0=1.0), KaryRandomizedResponse(epsilon0=1.0, domain_size=3).model):
        assert reveal(stationary("K3"), local=local).clone_chance == pytest.approx(1 / math.e)


def test_who_cannot_be_where_the_report_is_shown_exposes_the_victim():
    laws = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])
    shown = np.array([0, 2])  # person 1 is never at 0, so that the victim is there
    assert shares_of_places(laws, 0, np.array([1]), shown).tolist() == [1.0, 0.0]
    equal = shares_of_places(np.full((3, 3), 1 / 3), 0, np.array([1, 2]), np.array([0, 1, 2]))
    assert equal == pytest.approx([1 / 3] * 3)


def test_beyond_epsilon0_nothing_is_lost():
    assert reveal(stationary("K3")).delta(1.0) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"victim": 5}, "victim"),
        ({"samples": 0}, "samples"),
        ({"laws": np.ones((3, 3))}, "laws"),
        ({"laws": np.ones((3, 2)) / 2}, "shape_of_laws"),
    ],
)
def test_bad_input_is_named(others, words):
    with pytest.raises(InvalidParameterError, match=words):
        reveal(**{"laws": stationary("K3"), **others})


def test_a_local_remainder_is_refused():
    local = LdpModel(epsilon0=1.0, delta0=1e-3)
    assert local.guarantee == LocalDP(epsilon=1.0, delta=1e-3)
    with pytest.raises(HypothesisError, match="local delta"):
        reveal(stationary("K3"), local=local)


pytestmark = pytest.mark.deep  # long: sampled bounds against enumeration
