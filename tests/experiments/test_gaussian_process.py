import numpy as np
import pytest
from experiments.d_sigma.gaussian_process import GaussianProcessAttack

from attacks.seen import view_of
from shuffledp.core.errors import InvalidParameterError
from shuffledp.demo import make_survey
from shuffledp.protocols.d_sigma.attacks.side_information import SideInformation
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shuffledp.testing import SeededSource


def test_a_surface_through_noisy_reports_finds_most_answers_and_none_without_places():
    survey = make_survey(3000)
    reports = KaryRandomizedResponse(epsilon0=2.5, domain_size=8).randomize(survey.labels, source=SeededSource(1))
    side = SideInformation(points=survey.positions)
    found = {
        type(shuffler): float((GaussianProcessAttack().infer(shuffler.shuffle(reports), side) == survey.labels).mean())
        for shuffler in (IdentityShuffler(), UniformShuffler())
    }
    assert found[IdentityShuffler] > 0.7
    assert found[UniformShuffler] < 0.25


def test_with_every_place_a_center_it_is_the_posterior_mean_of_the_full_process():
    points, values = np.array([0.0, 0.3, 0.5, 1.0, 1.2]), np.array([0, 0, 1, 1, 0])
    view = view_of(values, epsilon0=3.0)
    model, length = view.reports.model, 0.4
    found = GaussianProcessAttack(length_scale=length).surfaces(view, SideInformation(points=points))
    shares = (np.eye(2)[values] - model.q) / (model.p - model.q)
    kernel = np.exp(-((points[:, None] - points) ** 2) / (2 * length**2))
    centered = shares - shares.mean(axis=0)
    fits = [
        kernel @ np.linalg.solve(kernel + np.eye(5) / ratio, centered) + shares.mean(axis=0)
        for ratio in np.logspace(-4, 1, 16)
    ]
    assert min(np.abs(found - fit).max() for fit in fits) < 1e-5


def log_evidence(shares, kernel, noise):
    """Of the columns of shares as independent normal vectors whose variance is the likeliest; up to a constant."""
    covariance = kernel / noise + np.eye(len(shares))
    squares = np.einsum("iv,ij,jv->", shares, np.linalg.inv(covariance), shares)
    return -(shares.size * np.log(squares) + shares.shape[1] * np.linalg.slogdet(covariance)[1]) / 2


@pytest.mark.parametrize("seed", range(6))
def test_the_parameters_are_those_under_which_what_is_seen_is_likeliest(seed):
    """Every pair of length and noise by determinants of all people's covariances."""
    draw = np.random.default_rng(seed)
    points = np.sort(draw.random(14))
    values = (points > 0.5).astype(int) ^ (draw.random(14) < 0.15 * (seed % 3))
    view = view_of(values, epsilon0=2.0)
    model = view.reports.model
    shares = (np.eye(2)[values] - model.q) / (model.p - model.q)
    centered = shares - shares.mean(axis=0)
    extent, fits = np.ptp(points), []
    for length in (0.02 * extent, 0.04 * extent, 0.08 * extent, 0.16 * extent, 0.32 * extent):
        kernel = np.exp(-((points[:, None] - points) ** 2) / (2 * length**2))
        for ratio in np.logspace(-4, 1, 16):
            fit = kernel @ np.linalg.solve(kernel + np.eye(14) / ratio, centered) + shares.mean(axis=0)
            fits.append((log_evidence(centered, kernel, 1 / ratio), fit))
    best = max(fits, key=lambda pair: pair[0])[1]
    found = GaussianProcessAttack().surfaces(view, SideInformation(points=points))
    assert found == pytest.approx(best, abs=1e-4)
    apart = sorted(fits, key=lambda pair: -pair[0])
    assert np.abs(apart[0][1] - apart[1][1]).max() > 1e-3  # or the test could not tell which was chosen


def test_bad_points_and_parameters_are_refused():
    for parameters in ({"num_centers": 0}, {"length_scale": 0.0}, {"seed": -1}):
        with pytest.raises(InvalidParameterError):
            GaussianProcessAttack(**parameters)
    with pytest.raises(InvalidParameterError, match="finite"):
        GaussianProcessAttack().infer(view_of([0, 1]), SideInformation(points=[0.0, np.inf]))
    with pytest.raises(InvalidParameterError, match="one column or more"):
        GaussianProcessAttack().infer(view_of([0, 1]), SideInformation(points=np.zeros((2, 0))))
    with pytest.raises(InvalidParameterError, match="points"):
        GaussianProcessAttack().infer(view_of([0, 1]), SideInformation())
