"""Naming slots: never more often than is stated, as often as can be, and a shuffle that hardly shuffles is found."""

import json
import math

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.attacks import Verdict
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.protocols.d_sigma.attacks.reidentification_adversaries import KnownAnswers
from shuffledp.protocols.d_sigma.attacks.reidentification_game import Naming, name_slots
from shuffledp.protocols.d_sigma.theorems.meehan22 import reidentification_bound
from shuffledp.testing import SeededSource
from statistical.thresholds import SIGNIFICANCE

PEOPLE = 8
GROUPS = sdp.Groups.from_lists([list(range(PEOPLE))] * PEOPLE)
CERTAIN = 1 - SIGNIFICANCE


def pipeline(alpha, epsilon0=0.05, kind=sdp.MallowsShuffler):
    return sdp.Pipeline(
        randomizer=sdp.KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2),
        shuffler=kind(groups=GROUPS, alpha=alpha, order=list(range(PEOPLE)), per_block=False),
        analyzer=sdp.FrequencyAnalyzer(),
    )


class HardlyShuffled(sdp.MallowsShuffler):
    """Says what the honest one says, and keeps nearly everybody in place."""

    def rank_parts(self, *, source=None):  # noqa: ARG002
        yield np.arange(PEOPLE)


def named(played, targets=(0,), *, claimed=None, trials=400, **options):
    bound = reidentification_bound(played.model(PEOPLE), num_targets=len(targets)).success
    options = {"confidence": CERTAIN, "source": SeededSource(1)} | options
    known = KnownAnswers.worst(played.randomizer.model, num_users=PEOPLE, targets=targets)
    return name_slots(played, bound if claimed is None else claimed, known=known, trials=trials, **options)


@pytest.mark.parametrize("targets", [(0,), (7,), (0, 1)])
def test_no_attack_names_slots_more_often_than_is_stated(targets):
    found = named(pipeline(1.0), targets)
    assert found.verdict is Verdict.CONSISTENT
    assert found.success_limits[0] <= found.claimed
    assert found.success_limits[1] > found.by_chance == pytest.approx(1 / math.comb(PEOPLE, len(targets)))


def test_of_a_uniform_order_and_empty_reports_the_attack_does_as_chance_does_and_the_bound_is_close():
    found = named(pipeline(1e-6), trials=1500)
    assert found.success_limits[0] < 1 / PEOPLE < found.success_limits[1]
    assert 1 / PEOPLE < found.claimed < 1.2 / PEOPLE


def test_one_who_does_as_well_as_can_be_reaches_the_likeliest_slot():
    """With reports that say nothing: the largest chance of a slot, here from many draws."""
    played = pipeline(8.0)
    source = SeededSource(9)
    # Where the first of the reference order ends: all that an attacker who sees only empty reports can use.
    ends = np.array([np.flatnonzero(played.shuffler.draw(source=source) == 0)[0] for _ in range(3000)])
    best = np.bincount(ends, minlength=PEOPLE).max() / 3000
    found = named(played, trials=800)
    assert found.success_limits[0] < best + 0.05
    assert found.success > best - 0.08
    assert found.success > 1.5 * found.by_chance


def test_a_shuffle_that_hardly_shuffles_is_refuted():
    found = named(pipeline(1.0, kind=HardlyShuffled), trials=200)
    assert found.verdict is Verdict.REFUTED
    assert found.success == 1.0
    assert "REFUTED: whoever knows everything" in str(found)


def test_a_claim_that_is_too_small_is_refuted():
    assert named(pipeline(8.0), claimed=1 / PEOPLE).verdict is Verdict.REFUTED


def test_the_result_survives_json_and_says_whether_it_was_seeded():
    found = named(pipeline(1.0), trials=20)
    assert Naming.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert found.seeded
    assert not named(pipeline(1.0), trials=2, source=None).seeded


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": ()}, "answers and targets must be numbers"),
        ({"targets": (0, 0)}, "distinct people out of 8"),
        ({"targets": (PEOPLE,)}, "distinct people out of 8"),
        ({"num_users": 0}, "num_users must be"),
        ({"claimed": 1.5}, "claimed must be"),
        ({"trials": 1}, "trials must be"),
        ({"confidence": 0.0}, "confidence must be"),
    ],
)
def test_wrong_arguments_are_refused(changes, message):
    played = pipeline(1.0)
    whom = {"num_users": PEOPLE, "targets": (0,)}
    whom |= {key: value for key, value in changes.items() if key in whom}
    changes = {key: value for key, value in changes.items() if key not in whom}
    with pytest.raises(InvalidParameterError, match=message):
        name_slots(played, **changes, known=KnownAnswers.worst(played.randomizer.model, **whom))


def test_of_no_claim_nothing_is_audited_and_the_success_is_told():
    found = named(pipeline(1.0), claimed=1.0, trials=50)
    assert found.verdict is Verdict.NOT_AUDITED
    assert found.success_limits[0] < found.success < found.success_limits[1]


def test_where_labels_are_no_slots_there_is_nothing_to_name():
    uniform = sdp.Pipeline(
        randomizer=sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2),
        shuffler=sdp.UniformShuffler(),
        analyzer=sdp.FrequencyAnalyzer(),
    )
    with pytest.raises(UnsupportedModelError, match="labels are slots"):
        name_slots(uniform, 0.5, known=KnownAnswers(answers=np.zeros(PEOPLE, dtype=int), targets=[0]))


def test_what_the_adversary_knows_is_not_printed():
    known = KnownAnswers(answers=[987654, 123456], targets=[1])
    assert repr(known) == "KnownAnswers(2 answers, 1 targets; not shown)"


def test_what_is_known_does_not_change_with_the_arrays_it_was_made_from():
    answers, targets = np.array([0, 1, 1]), np.array([0])
    known = KnownAnswers(answers=answers, targets=targets)
    answers[0], targets[0] = 1, 2
    assert (known.answers.tolist(), known.targets.tolist()) == ([0, 1, 1], [0])
    with pytest.raises(ValueError, match="read-only"):
        known.answers[0] = 1


@pytest.mark.parametrize(
    ("answers", "targets"),
    [
        (np.ma.masked_equal([0, 1, 1], 1), [0]),
        ([0, np.nan, 1.0], [0]),
        ([[0, 1], [1]], [0]),
        ([0, 1, 1], [[0, 1]]),
        ([0, 1, 1], [10**20]),
        (["a", "b"], [0]),
    ],
)
def test_what_nobody_can_know_is_refused(answers, targets):
    with pytest.raises(InvalidParameterError):
        KnownAnswers(answers=answers, targets=targets)


class Saying:
    def __init__(self, slots):
        self.slots = slots

    def infer(self, view, known):  # noqa: ARG002
        return self.slots


@pytest.mark.parametrize("slots", [None, [0, 1], [0.5], [[0]], [[0], [1, 2]], "0"])
def test_what_is_not_one_slot_for_each_target_is_refused(slots):
    with pytest.raises(InvalidParameterError, match=r"numbers of slots, shape \(1,\)"):
        named(pipeline(1.0), attack=Saying(slots), trials=2)


def test_a_list_of_slots_is_read():
    assert named(pipeline(1.0), attack=Saying([0]), trials=20).trials == 20


@pytest.mark.parametrize("attack", [Saying, 3])
def test_what_is_no_adversary_is_refused(attack):
    with pytest.raises(InvalidParameterError, match="attack must be"):
        named(pipeline(1.0), attack=attack, trials=2)
