"""Sharpened maps: the blur of the shuffle is undone, intervals cover, and narrow cells are refused."""

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.d_sigma.analyzers.regional import RegionalAnalyzer
from shuffledp.protocols.d_sigma.analyzers.sharpened_regions import SharpenedAnalyzer, displacement_of
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.testing import SeededSource

PEOPLE, CELLS = 4000, 10
LINE = Groups.from_radius(np.arange(PEOPLE), 20)
CELL = np.arange(PEOPLE) * CELLS // PEOPLE
TRUTH = np.where(np.arange(CELLS) % 2 == 0, 0.2, 0.7)


def shuffler_with(displacement):
    """A Laplace sort along a line that moves reports about so far."""
    alpha = 41**2 / 2 / displacement
    return NoisySortShuffler(groups=LINE, alpha=alpha, spacing="uniform", order=np.arange(PEOPLE))


def answers(seed):
    """People of each cell with exactly the true share, in an order that is no news."""
    draw = np.random.default_rng(seed)
    held = [draw.permutation(np.arange(PEOPLE // CELLS) < round(share * PEOPLE / CELLS)) for share in TRUTH]
    return np.concatenate(held).astype(int)


def estimates(analyzer, shuffler, seed):
    randomizer = KaryRandomizedResponse(epsilon0=2.0, domain_size=2)
    reports = randomizer.randomize(answers(seed), source=SeededSource(seed).substream("reports"))
    found = analyzer.estimate(
        analyzer.summarize(shuffler.shuffle(reports, source=SeededSource(seed).substream("shuffle")))
    )
    rows = [row for row in found.rows() if row["target"] == "1"]
    return np.array([[row["estimate"], row["lower"], row["upper"], row["standard_error"]] for row in rows])


def test_the_blur_of_a_shuffle_is_undone_where_displaced_estimates_are_far_off():
    shuffler = shuffler_with(130)
    sharp, plain = SharpenedAnalyzer(regions=CELL, shuffler=shuffler), RegionalAnalyzer(regions=CELL, shuffler=shuffler)
    found = np.mean([estimates(sharp, shuffler, seed)[:, 0] for seed in range(30)], axis=0)
    displaced = np.mean([estimates(plain, shuffler, seed)[:, 0] for seed in range(30)], axis=0)
    assert np.abs(displaced - TRUTH).max() > 0.1
    assert found == pytest.approx(TRUTH, abs=5 * 0.06 / np.sqrt(30))


@pytest.mark.parametrize("displacement", [20, 150])
def test_intervals_cover_the_true_shares_of_cells_and_are_not_idle(displacement):
    shuffler = shuffler_with(displacement)
    analyzer, runs = SharpenedAnalyzer(regions=CELL, shuffler=shuffler), 60
    inside, errors, off = 0, [], []
    for seed in range(runs):
        found = estimates(analyzer, shuffler, 1000 + seed)
        inside += int(((found[:, 1] <= TRUTH) & (found[:, 2] >= TRUTH)).sum())
        errors.append(found[:, 3])
        off.append(found[:, 0] - TRUTH)
    assert 0.92 <= inside / (runs * CELLS) <= 0.998
    assert np.sqrt(np.mean(np.square(off))) > 0.6 * np.mean(errors)  # power: half of the error would not cover


@pytest.mark.deep
def test_intervals_cover_in_ninety_three_of_a_hundred_runs_at_the_narrowest_cells():
    shuffler = shuffler_with(190)
    analyzer = SharpenedAnalyzer(regions=CELL, shuffler=shuffler)
    found = [estimates(analyzer, shuffler, 5000 + seed) for seed in range(400)]
    inside = np.mean([(each[:, 1] <= TRUTH) & (each[:, 2] >= TRUTH) for each in found])
    assert 0.93 <= inside <= 0.995


def test_cells_narrower_than_two_displacements_are_refused_with_their_name():
    shuffler = shuffler_with(400)
    assert displacement_of(shuffler) == pytest.approx(400, rel=0.25)
    with pytest.raises(InvalidParameterError, match="two mean displacements"):
        SharpenedAnalyzer(regions=CELL, shuffler=shuffler)
    with pytest.raises(InvalidParameterError, match="shuffler must be given"):
        SharpenedAnalyzer(regions=CELL, shuffler=None)


def test_it_is_the_displaced_estimate_where_nothing_moves_between_cells():
    groups = Groups.from_labels(CELL)
    shuffler = NoisySortShuffler(groups=groups, alpha=0.0, order=np.arange(PEOPLE))
    sharp, plain = SharpenedAnalyzer(regions=CELL, shuffler=shuffler), RegionalAnalyzer(regions=CELL, shuffler=shuffler)
    assert np.allclose(sharp.blur, np.eye(CELLS))
    assert estimates(sharp, shuffler, 1)[:, 0] == pytest.approx(estimates(plain, shuffler, 1)[:, 0])
