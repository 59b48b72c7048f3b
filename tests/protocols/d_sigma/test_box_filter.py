"""The box filter: averages of debiased reports over groups of slots."""

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.protocols.d_sigma.analyzers.box_filter import BoxFilter, sums_in_groups
from shuffledp.protocols.d_sigma.analyzers.learned_laws import laws_in_groups, learnability_error
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.randomizers import KaryRandomizedResponse, OneBitMean, OptimizedUnaryEncoding
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shuffledp.testing import SeededSource

PLACES = np.random.default_rng(0).integers(0, 9, 60)


@pytest.mark.parametrize(
    "groups",
    [
        Groups.from_radius(PLACES, 2),
        Groups.from_labels(PLACES % 4),
        Groups.from_lists([np.arange(0, 60, 2), np.arange(60)[::-1], [3, 4]]),
    ],
    ids=["radius", "labels", "lists"],
)
def test_sums_are_over_the_members_of_everybodys_own_group(groups):
    values = np.random.default_rng(1).random((60, 2))
    found = sums_in_groups(values, groups)
    for person in range(60):
        assert found[person] == pytest.approx(values[groups.members(person)].sum(axis=0))


@pytest.mark.parametrize("mechanism", [KaryRandomizedResponse, OptimizedUnaryEncoding])
def test_without_noise_and_shuffle_laws_are_the_true_shares(mechanism):
    answers, groups = PLACES % 3, Groups.from_radius(PLACES, 1)
    reports = mechanism(epsilon0=25.0, domain_size=3).randomize(answers, source=SeededSource(0))
    truth = laws_in_groups(answers, groups, 3)
    if mechanism is KaryRandomizedResponse:
        assert BoxFilter(groups).laws(IdentityShuffler().shuffle(reports)) == pytest.approx(truth, abs=1e-6)
    else:  # its reports keep half of the ones, whatever the loss
        assert np.abs(BoxFilter(groups).laws(IdentityShuffler().shuffle(reports)) - truth).mean() < 0.2


def test_with_noise_the_error_falls_as_groups_grow_and_a_uniform_shuffle_leaves_the_law_of_all():
    answers = (np.arange(4000) < 2000).astype(int)
    reports = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).randomize(answers, source=SeededSource(0))
    view, errors = IdentityShuffler().shuffle(reports), []
    for radius in (5, 50):
        groups = Groups.from_radius(np.arange(4000), radius)
        errors.append(learnability_error(BoxFilter(groups).laws(view), laws_in_groups(answers, groups, 2)))
    assert errors[1] < errors[0] / 2
    everywhere = BoxFilter(groups).laws(UniformShuffler().shuffle(reports, source=SeededSource(1)))
    assert np.ptp(everywhere, axis=0).max() == 0
    assert everywhere[0] == pytest.approx([0.5, 0.5], abs=0.06)


def test_what_it_cannot_read_is_refused():
    groups = Groups.from_radius(np.arange(5), 1)
    numbers = OneBitMean(epsilon0=1.0, lower=0, upper=1).randomize(np.full(5, 0.5))
    with pytest.raises(UnsupportedModelError, match="stand for values"):
        BoxFilter(groups).laws(IdentityShuffler().shuffle(numbers))
    few = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).randomize([0, 1])
    with pytest.raises(InvalidParameterError, match="5 slots"):
        BoxFilter(groups).laws(IdentityShuffler().shuffle(few))
    with pytest.raises(InvalidParameterError, match="5 people"):
        sums_in_groups(np.ones(5), groups)
