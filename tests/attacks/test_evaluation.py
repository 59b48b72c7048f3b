import json

import numpy as np
import pytest

from shuffledp.attacks import InferenceEvaluation, MajorityVote, SideInformation, evaluate
from shuffledp.errors import InvalidParameterError
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import IdentityShuffler
from shuffledp.testing import SeededSource
from statistical.thresholds import SIGNIFICANCE

ANSWERS = np.repeat([0, 1], [700, 300])
ALONE = SideInformation(neighbors=np.arange(1000)[:, None])


class Always:
    def infer(self, view, side_information):
        assert len(view) == len(side_information.neighbors)
        return np.zeros(len(side_information.neighbors), dtype=np.int64)


def played(attack=None, **changes):
    options = {
        "randomizer": KaryRandomizedResponse(epsilon0=1.0, domain_size=2),
        "shuffler": IdentityShuffler(),
        "answers": ANSWERS,
        "side_information": ALONE,
        "num_runs": 10,
        "repetitions": 3,
        "source": SeededSource(1),
    }
    return evaluate(attack or MajorityVote(), **options | changes)


def test_success_is_the_share_of_truths_where_everybodys_own_report_is_read():
    found = played(level=1 - SIGNIFICANCE)
    truth = np.e / (1 + np.e)
    assert abs(found.success - truth) < 6 * np.sqrt(truth * (1 - truth) / 30_000)
    assert abs(found.success - truth) < 8 * found.success_error
    assert found.success_limits[0] <= truth <= found.success_limits[1]
    assert found.naive == 0.7


class Others:
    """Guesses what a person's neighbors are reported to say, and never reads the slot of the person's own report."""

    def infer(self, view, side_information):
        near = side_information.neighbors
        return (view.reports["value"][near].mean(axis=1) > 0.5).astype(np.int64)


RINGS = np.arange(1000).reshape(50, 20)  # groups of twenty; everybody looks at the other nineteen
OTHERS = SideInformation(
    neighbors=np.array([[other for other in ring if other != who] for ring in RINGS for who in ring])
)


def test_what_only_others_reports_tell_is_no_advantage_and_others_are_not_disturbed():
    """Guarantee 1. Groups of twenty answer alike; replacing neighbors as well would lower the control."""
    found = played(
        Others(),
        answers=np.repeat(np.arange(50) % 2, 20),
        side_information=OTHERS,
        control_runs=400,
        level=1 - SIGNIFICANCE,
    )
    assert found.success > 0.95
    assert found.control == pytest.approx(found.success, abs=6 * found.control_error)
    assert found.control_error < 0.02
    assert found.advantage == pytest.approx(0, abs=6 * found.advantage_error)
    assert found.advantage_limits[0] < 0 < found.advantage_limits[1]


@pytest.mark.parametrize("attack", [MajorityVote(), Always()])
def test_a_pipeline_that_tells_nothing_gives_no_attack_an_advantage(attack):
    """Guarantee 1."""
    found = played(
        attack,
        randomizer=KaryRandomizedResponse(epsilon0=1e-6, domain_size=2),
        control_runs=500,
        level=1 - SIGNIFICANCE,
    )
    assert abs(found.advantage) <= 6 * found.advantage_error + 1e-12
    assert found.advantage_limits[0] < 0 < found.advantage_limits[1]


def test_a_report_in_its_own_slot_is_an_advantage_of_the_size_that_is_worked_out():
    found = played(control_runs=2000, level=1 - SIGNIFICANCE, num_runs=600)
    truth, same = np.e / (1 + np.e), (0.7 * 699 + 0.3 * 299) / 999  # how often another person answers the same
    without = same * truth + (1 - same) * (1 - truth)
    assert abs(found.control - without) < 6 * found.control_error < 0.08
    assert abs(found.advantage - (truth - without)) < 6 * found.advantage_error
    assert found.advantage_limits[0] < truth - without < found.advantage_limits[1]
    assert found.advantage_limits[0] > 0
    assert found.control_runs == 2000


class Returning:
    def __init__(self, guesses):
        self.guesses = guesses

    def infer(self, view, side_information):  # noqa: ARG002
        return self.guesses


@pytest.mark.parametrize(
    ("guesses", "message"),
    [
        (0, r"shape \(1000,\); got an array of shape \(\)"),
        (None, r"got an array of shape \(\)"),
        (np.zeros((1000, 1), dtype=int), r"got an array of shape \(1000, 1\)"),
        (np.zeros(999, dtype=int), r"got an array of shape \(999,\)"),
        (np.full(1000, np.nan), "integers; got an array of type float64"),
        (np.zeros(1000, dtype=bool), "integers; got an array of type bool"),
        (np.full(1000, 2), "from 0 to 1; 1000 of 1000 guesses are not"),
        (np.append(np.zeros(999, dtype=int), -1), "from 0 to 1; 1 of 1000 guesses are not"),
        ([[0], [0, 1]], "ragged rows"),
        (np.ma.masked_equal(np.zeros(1000, dtype=int), 0), "guesses must be complete"),
    ],
)
def test_what_is_no_answer_for_each_person_is_refused_and_no_guess_is_shown(guesses, message):
    with pytest.raises(InvalidParameterError, match=message):
        played(Returning(guesses), num_runs=1, repetitions=1)


def test_the_vulnerable_are_guessed_right_in_nine_of_ten_runs():
    truth = np.e / (1 + np.e)
    expected = truth**10 + 10 * truth**9 * (1 - truth)
    assert abs(played(repetitions=10).vulnerable - expected) < 6 * np.sqrt(expected * (1 - expected) / 10_000)


def test_guessing_the_commonest_answer_makes_exactly_its_share_vulnerable():
    found = played(Always())
    assert [found.success, found.vulnerable] == pytest.approx([found.naive] * 2)
    assert found.success_error == pytest.approx(0, abs=1e-12)
    assert found.vulnerable_error == pytest.approx(0, abs=1e-12)


def test_progress_is_told_and_a_seeded_evaluation_is_marked_and_repeats_itself():
    told = []
    found = played(progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 60) for done in range(1, 61)]
    assert found.seeded
    assert found == played()
    assert "The attack guesses" in str(found)
    assert InferenceEvaluation.from_dict(json.loads(json.dumps(found.to_dict()))) == found


@pytest.mark.parametrize(
    "changes",
    [
        {"num_runs": 0},
        {"repetitions": 0},
        {"vulnerable_from": 0.0},
        {"control_runs": 0},
        {"num_runs": True},
        {"num_runs": 1.5},
        {"answers": np.append(ANSWERS[1:], -1)},
        {"answers": ANSWERS[:-1]},
        {"side_information": None},
        {"level": 1.0},
        {"answers": [0.5, 0.5]},
        {"answers": [1]},
    ],
)
def test_bad_arguments_are_refused(changes):
    with pytest.raises(InvalidParameterError):
        played(**changes)
