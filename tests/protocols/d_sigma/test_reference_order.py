"""What shufflers that keep slots share: sizes of windows, and how many people of a window are honest at least."""

from functools import partial

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.table import Table
from shuffledp.protocols.d_sigma.people import sensitivity
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.orders import _centers, _links
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.shufflers.reference_order import window_sizes
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.testing import SeededSource


@pytest.mark.parametrize("most", [1, 2, 3, 4, 7, 100, 12_345])
def test_sizes_of_windows_reach_from_one_to_all_in_steps_of_a_quarter_at_most(most):
    sizes = np.array(window_sizes(most))
    assert (sizes[0], sizes[-1]) == (1, most)
    assert (np.diff(sizes) > 0).all()
    steps = sizes[1:] / sizes[:-1]
    assert (steps[sizes[1:] > 5] <= 1.25).all()
    assert sizes[:5].tolist() == list(range(1, min(most, 5) + 1))
    assert (steps[(sizes[1:] > 5) & (sizes[1:] < most)] > 1.1).all()


@pytest.mark.parametrize("make", [MallowsShuffler, NoisySortShuffler])
def test_of_every_window_all_who_collude_may_be_in_it_but_never_the_person_it_is_about(make):
    model = make(groups=Groups.from_labels([0] * 12), alpha=1.0).model(12)
    (all_honest,) = model.swap_windows()
    for honest in (12, 11, 5, 1):
        counted = model.counting(honest)
        assert (counted.num_honest, counted.num_users, counted.num_colluding) == (honest, 12, 12 - honest)
        (windows,) = counted.swap_windows()
        assert windows.sizes == tuple(max(1, size - (12 - honest)) for size in all_honest.sizes)
        assert (windows.costs, windows.people) == (all_honest.costs, all_honest.people)


@pytest.mark.parametrize("make", [MallowsShuffler, NoisySortShuffler])
def test_parts_of_a_view_are_the_view_of_the_same_words(make):
    places = np.random.default_rng(1).integers(0, 9, 50)
    shuffler = make(groups=Groups.from_radius(places, 1), alpha=4.0)
    public = Table({"place": places})
    reports = KaryRandomizedResponse(epsilon0=9.0, domain_size=50).randomize(range(50), source=SeededSource(1))
    whole = shuffler.shuffle(reports, public=public, source=SeededSource(2))
    parts = list(shuffler.view_parts(reports, public=public, source=SeededSource(2), size=16))
    assert [len(part) for part in parts] == [16, 16, 16, 2]
    assert np.concatenate([part.labels for part in parts]).tolist() == list(range(50))
    assert Reports.concat([part.reports for part in parts]) == whole.reports
    assert whole.reports["value"].tolist() == reports["value"][shuffler.draw(source=SeededSource(2))].tolist()
    assert all(part.label_table == public and part.shuffle == whole.shuffle and part.seeded for part in parts)


@pytest.mark.parametrize("ranks", [[0, 1, 1], [0, 1], [0, 1, 2, 2]])
def test_what_is_no_permutation_of_ranks_is_refused(ranks):
    shuffler = MallowsShuffler(groups=Groups.from_labels([0, 0, 0]), alpha=1.0)
    shuffler.rank_parts = lambda **_: iter([np.array(ranks[:2]), np.array(ranks[2:], dtype=int)])
    with pytest.raises(InvalidParameterError, match="ranks must hold each of 0"):
        shuffler.draw()


@pytest.mark.parametrize("make", [MallowsShuffler, NoisySortShuffler])
def test_costs_of_exchanges_are_those_between_people_wherever_they_stand_in_the_order(make):
    order = [3, 0, 5, 1, 4, 2]
    groups = Groups.from_lists([[3, 0, 5], [1, 4], [2]])
    shuffler, plain = (
        make(groups=each, alpha=1.0, order=ranks)
        for each, ranks in ((groups, order), (Groups.from_lists([[0, 1, 2], [3, 4], [5]]), range(6)))
    )
    for rank, person in enumerate(order):
        assert shuffler.swap_costs(person)[order] == pytest.approx(plain.swap_costs(rank))
        in_block = {0: 3, 1: 3, 2: 3, 3: 2, 4: 2, 5: 1}[rank]
        assert np.isfinite(shuffler.swap_costs(person)).sum() == in_block


@pytest.mark.parametrize(
    "make",
    [
        MallowsShuffler,
        partial(MallowsShuffler, delta=1e-4),
        partial(MallowsShuffler, distance="cayley"),
        NoisySortShuffler,
        partial(NoisySortShuffler, spacing="uniform"),
        partial(NoisySortShuffler, noise="gaussian", delta=1e-4),
    ],
)
def test_another_alpha_of_a_shuffler_is_a_shuffler_made_with_it(make):
    groups = Groups.from_radius(np.random.default_rng(4).uniform(0, 1, (60, 2)), 0.2)
    first = make(groups=groups, alpha=1.0, order=np.arange(60)[::-1])
    first.prepare()
    for alpha in (0.25, 7.0):
        found, made = (
            each.prepare()
            for each in (first.with_alpha(alpha), make(groups=groups, alpha=alpha, order=first.prepare().order))
        )
        assert found.model == made.model
        for one, other in ((found.parameters, made.parameters), (found.starts, made.starts), (found.order, made.order)):
            np.testing.assert_array_equal(one, other)
    assert first.prepare().model == make(groups=groups, alpha=1.0, order=first.prepare().order).prepare().model


def test_another_alpha_measures_the_groups_once(monkeypatch):
    measured = []
    kept = sensitivity.windows
    monkeypatch.setattr(sensitivity, "windows", lambda *given: measured.append(1) or kept(*given))
    first = MallowsShuffler(groups=Groups.from_radius(np.arange(9), 1), alpha=1.0, order=np.arange(9))
    for alpha in (2.0, 3.0, 4.0):
        first.with_alpha(alpha).prepare()
    assert len(measured) == 1


def test_another_alpha_needs_an_alpha_above_0():
    groups = Groups.from_radius(np.arange(9), 1)
    with pytest.raises(InvalidParameterError, match="another alpha"):
        MallowsShuffler(groups=groups, concentration=1.0).with_alpha(2.0)
    with pytest.raises(InvalidParameterError, match="alpha must be"):
        MallowsShuffler(groups=groups, alpha=1.0).with_alpha(0.0)


def test_links_join_the_center_of_each_group_with_its_other_sites_both_ways_once():
    """Mutant: the way back from a site leads to itself."""
    draw = np.random.default_rng(4)
    groups = Groups.from_lists([draw.choice(12, size=draw.integers(1, 6), replace=False) for _ in range(9)], 12)
    found = _links(groups)
    pairs = {
        (site, int(other))
        for site in range(found.starts.size - 1)
        for other in found.neighbors[found.starts[site] : found.starts[site + 1]]
    }
    expected = set()
    for group, center in zip(groups, _centers(groups), strict=True):
        for site in np.unique(groups.sites[group]):
            expected |= {(int(center), int(site)), (int(site), int(center))}
    assert pairs == expected
    assert len(pairs) == found.neighbors.size
