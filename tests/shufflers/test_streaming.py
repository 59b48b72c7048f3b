"""Reports that arrive in the reference order, in batches, are shuffled by the law of the shuffler itself."""

import itertools
from collections import Counter

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError, LocalProtocolError, UnsupportedModelError
from shuffledp.core.flow import View
from shuffledp.people.groups import Groups
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import MallowsReportStream, MallowsShuffler, NoisySortShuffler
from shuffledp.testing import SeededSource
from shufflers.enumerated import law_of
from statistical.thresholds import LEAST_EXPECTED, assert_fits, assert_rejects

ORDER = [3, 0, 4, 2, 1]
GROUPS = Groups.from_lists([[0, 3], [3, 4, 0], [1, 2]], 5)  # blocks 3 0 4 and 2 1 of the order


def shuffler_of(groups=GROUPS, **options):
    return MallowsShuffler(**{"groups": groups, "concentration": 0.5, "order": ORDER} | options)


def whose(people):
    """Reports that are nearly always the senders' own numbers."""
    return KaryRandomizedResponse(epsilon0=30.0, domain_size=people + 2).randomize(range(people))


def streamed(shuffler, batches, reports=None, source=None):
    """The parts of the view for reports that arrive in these batches."""
    order = shuffler.prepare().order
    arriving = (whose(order.size) if reports is None else reports).take(order)
    stream, bounds = MallowsReportStream(shuffler, source=source), np.cumsum([0, *batches])
    parts = [stream.take(arriving.take(slice(start, stop))) for start, stop in itertools.pairwise(bounds)]
    stream.finish()
    return parts


def sigma(parts):
    """Whose report lies in each slot."""
    slots = np.concatenate([part.labels for part in parts])
    return tuple(np.concatenate([part.reports["value"] for part in parts])[np.argsort(slots)].tolist())


@pytest.mark.parametrize(("per_block", "batches"), [(True, (2, 0, 3)), (False, (1, 1, 1, 1, 1))])
def test_the_view_has_the_law_of_the_shuffler_and_another_concentration_is_rejected(per_block, batches):
    reports, shuffler = whose(5), shuffler_of(per_block=per_block)
    found = Counter(sigma(streamed(shuffler, batches, reports)) for _ in range(9000))
    right, wrong = law_of(shuffler), law_of(shuffler_of(per_block=per_block, concentration=0.65))
    assert set(found) <= set(right)
    by_chance = sorted(right, key=right.get)
    rare = [each for each in by_chance if min(right[each], wrong[each]) * sum(found.values()) < LEAST_EXPECTED]

    def cells(values):
        own = [values[each] for each in by_chance if each not in rare]
        return [*own, sum(values[each] for each in rare)] if rare else own

    assert_fits(cells(found), cells(right))
    assert_rejects(cells(found), cells(wrong))


def test_parts_are_of_the_shufflers_model_and_say_which_slots_they_fill():
    shuffler = shuffler_of(alpha=1.0, concentration=None)
    parts = streamed(shuffler, (3, 2))
    assert all(isinstance(part, View) and part.shuffle == shuffler.model(5) for part in parts)
    assert [sorted(part.labels.tolist()) for part in parts] == [[0, 3, 4], [1, 2]]  # a complete block leaves
    assert not any(part.seeded for part in parts)
    assert all(part.seeded for part in streamed(shuffler, (3, 2), source=SeededSource(1)))


def test_few_wait_and_an_infinite_concentration_lets_nobody_wait():
    people = 4000
    groups, reports = Groups.from_radius(np.arange(people), 3), whose(people)
    shuffler = MallowsShuffler(groups=groups, concentration=0.5, order=range(people))
    stream, most = MallowsReportStream(shuffler), 0
    for start in range(0, people, 100):
        stream.take(reports.take(slice(start, start + 100)))
        most = max(most, stream.num_waiting)
    stream.finish()
    assert 0 < most < 60
    assert stream.num_waiting == 0
    identity = MallowsShuffler(groups=groups, alpha=np.inf, order=range(people))
    assert sigma(streamed(identity, (1000, 3000), reports)) == tuple(range(people))


def test_bad_input_is_refused():
    with pytest.raises(InvalidParameterError, match="shuffler must be"):
        MallowsReportStream(NoisySortShuffler(groups=GROUPS, alpha=1.0))
    with pytest.raises(UnsupportedModelError, match="Kendall's distance; got distance='cayley'"):
        MallowsReportStream(shuffler_of(distance="cayley"))
    stream = MallowsReportStream(shuffler_of())
    stream.take(whose(5).take(slice(0, 4)))
    with pytest.raises(LocalProtocolError, match="of 5 people; 4 have arrived"):
        stream.finish()
    with pytest.raises(InvalidParameterError, match="of 5 people; got 6"):
        stream.take(whose(5).take(slice(0, 2)))
    with pytest.raises(InvalidParameterError, match="of one randomizer"):
        stream.take(whose(6).take(slice(0, 1)))
