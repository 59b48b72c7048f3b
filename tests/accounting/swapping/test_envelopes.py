"""Envelopes of points of a curve of delta: above every profile that the points are above, and profiles of pairs."""

import math

import numpy as np
import pytest

from shuffledp.accounting.swapping import envelopes
from shuffledp.accounting.swapping.envelopes import envelope
from shuffledp.core.errors import ContradictionError


def random_profile(random, epsilon0):
    """The profile of a symmetric pair whose ratios lie between 1/E and E, as a function of the ratio."""
    losses = random.uniform(0, epsilon0, 6)
    chances = random.dirichlet(np.ones(6)) / (1 + np.exp(losses))  # of exp(loss) under Q; of exp(-loss) exp(loss) times
    losses, chances = np.concatenate([losses, -losses]), np.concatenate([chances, chances * np.exp(losses)])
    return lambda growths: np.maximum(np.exp(losses) - 1 - growths[:, np.newaxis], 0) @ chances


@pytest.mark.parametrize("epsilon0", [0.01, 1.0, 6.0])
def test_it_is_above_every_profile_that_the_points_are_above_and_the_profile_of_a_pair(epsilon0):
    random = np.random.default_rng(1)
    for _ in range(40):
        profile = random_profile(random, epsilon0)
        epsilons = np.sort(random.uniform(0, epsilon0, 9))
        deltas = profile(np.expm1(epsilons)) * random.choice([1.0, 1.3, 3.0], 9)
        found = envelope(epsilon0, epsilons, deltas)
        everywhere = np.linspace(0, 1.1 * epsilon0, 200)
        assert (found.curve(everywhere) >= profile(np.expm1(everywhere)) - 1e-12).all()
        assert (found.curve(epsilons) <= deltas + 1e-9).all()
        assert found.masses.min() >= -1e-12
        assert found.masses.sum() == pytest.approx(1)
        assert np.abs(found.masses @ found.growths) < 1e-9
        mirrored = np.expm1(-everywhere[everywhere < epsilon0])
        below = np.interp(mirrored, found.growths, found.deltas)
        assert below == pytest.approx(
            -mirrored + found.curve(everywhere[everywhere < epsilon0]) * (1 + mirrored), abs=1e-9
        )


def test_an_epsilon_of_the_envelope_has_at_most_the_delta_asked_for():
    epsilons = np.linspace(0, 0.5, 12)
    found = envelope(1.0, epsilons, 0.1 * np.exp(-20 * epsilons))
    for delta in (0.2, 0.05, 1e-3, 4e-6, 1e-9):
        epsilon = found.epsilon(delta)
        assert found.curve(np.array([epsilon]))[0] <= delta
        assert epsilon == 0 or found.curve(np.array([epsilon * (1 - 1e-6)]))[0] > delta
    assert found.epsilon(0.9) == 0.0


def test_a_hull_of_one_side_is_refused(monkeypatch):
    """Mutant: points below 1 left out, where the slope then is not what a pair can have."""
    hull = envelopes.lower_hull

    def one_sided(places, values):
        kept = hull(places[places >= 0], values[places >= 0])
        return np.append(0, kept + int((places < 0).sum()))

    monkeypatch.setattr(envelopes, "lower_hull", one_sided)
    with pytest.raises(ContradictionError, match="not the profile of a pair"):
        envelope(1.0, np.array([0.0, 0.01]), np.array([0.3, 0.001]))


def test_without_points_it_is_the_profile_of_binary_response():
    found = envelope(2.0, np.zeros(0), np.zeros(0))
    truth = 1 / (1 + math.exp(-2))
    for epsilon in (0.0, 0.7, 1.9, 2.0):
        assert found.curve(np.array([epsilon]))[0] == pytest.approx(truth - math.exp(epsilon) * (1 - truth), abs=1e-9)
