"""What is guaranteed bounds what anybody can guess: golden values, random channels, and guarantees that attain it."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.statement_terms import Kind
from shuffledp.leakage.vulnerability import Vulnerability, capped, caps_at, vulnerability_cap

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "budget.json").read_text(encoding="utf-8"))


def single(epsilon, delta):
    """The curve of what attains a single guarantee: it reveals with probability delta, and else it is randomized."""
    most = np.exp(epsilon)
    return lambda epsilons: delta + (1 - delta) * np.maximum(0, (most - np.exp(epsilons)) / (most + 1))


def curve_of(channel):
    """The exact curve of a channel, rows are inputs: the worst of both directions of every pair."""

    def curve(epsilons):
        gaps = channel[:, None, None, :] - np.exp(epsilons)[None, None, :, None] * channel[None, :, None, :]
        return np.maximum(gaps, 0).sum(axis=-1).max(axis=(0, 1))

    return curve


@pytest.mark.parametrize(("prior", "epsilon", "delta", "expected"), GOLDEN["cap_single"]["rows"])
def test_a_single_guarantee_is_the_closed_form(prior, epsilon, delta, expected):
    ordered = np.sort(prior)[::-1]
    assert caps_at(ordered, np.array([epsilon]), np.array([delta]))[0] == pytest.approx(expected, abs=1e-12)
    assert vulnerability_cap(single(epsilon, delta), prior=prior) <= expected + 0.02  # by epsilons nearby


@given(
    st.integers(2, 4),
    st.integers(2, 5),
    st.integers(0, 2**32 - 1),
    st.floats(0.2, 3.0),
)
def test_no_channel_is_guessed_better_than_its_curve_allows(inputs, outputs, seed, spread):
    numbers = np.random.default_rng(seed)
    channel = numbers.dirichlet(np.full(outputs, spread), size=inputs)
    prior = numbers.dirichlet(np.ones(inputs))
    gain = numbers.uniform(-1, 1, size=(3, inputs))
    joint = prior[:, None] * channel
    assert joint.max(axis=0).sum() <= vulnerability_cap(curve_of(channel), prior=prior) + 1e-12
    assert (gain @ joint).max(axis=0).sum() <= vulnerability_cap(curve_of(channel), prior=prior, gain=gain) + 1e-12


@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.52, 0.48], [0.7, 0.3]])
def test_of_two_values_the_cap_is_exact(prior):
    channel = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    exact = (np.array(prior)[:, None] * channel).max(axis=0).sum()
    assert vulnerability_cap(curve_of(channel), prior=prior) == pytest.approx(exact, abs=1e-12)


def test_a_value_that_is_impossible_beforehand_adds_nothing():
    channel = np.array([[0.6, 0.4], [0.4, 0.6], [0.0, 1.0]])
    without = vulnerability_cap(curve_of(channel), prior=[0.5, 0.5])
    assert vulnerability_cap(curve_of(channel), prior=[0.5, 0.5, 0.0]) == pytest.approx(without)


@pytest.mark.parametrize("delta", [-0.1, 1.1, math.nan])
def test_what_is_no_curve_is_refused(delta):
    with pytest.raises(InvalidParameterError, match="delta from 0 to 1"):
        vulnerability_cap(lambda epsilons: np.full(np.shape(epsilons), delta), prior=[0.5, 0.5])


def found(kind, value, lower, upper):
    return Vulnerability(value=value, lower=lower, upper=upper, kind=kind, prior=0.5, method="any")


def test_a_bound_is_lowered_to_the_cap_and_says_so():
    bounded = capped(found(Kind.UPPER_BOUND, 0.731, 0.5, 0.731), 0.512)
    assert (bounded.value, bounded.upper) == (pytest.approx(0.512), pytest.approx(0.512))
    assert bounded.value >= 0.512
    assert "guaranteed" in bounded.note
    assert bounded.additive_leakage == pytest.approx(0.012)


def test_what_is_exact_or_already_lower_stays():
    for each in (found(Kind.EXACT, 0.6, 0.6, 0.6), found(Kind.UPPER_BOUND, 0.51, 0.5, 0.51)):
        assert capped(each, 0.512) is each
    sure = capped(found(Kind.LOWER_BOUND, 0.505, 0.505, 0.7), 0.512)
    assert (sure.value, sure.upper) == (0.505, pytest.approx(0.512))
