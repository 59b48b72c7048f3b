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
    mixed = 0.58 * truth + 0.42 * (1 - truth)  # a random other person's answer is the same with 0.7^2 + 0.3^2
    assert abs(found.control - mixed) < 0.1
    assert found.naive == 0.7


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
    assert told == [(done, 40) for done in range(1, 41)]
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
        {"control_share": 0.6},
        {"level": 1.0},
        {"answers": [0.5, 0.5]},
        {"answers": [1]},
    ],
)
def test_bad_arguments_are_refused(changes):
    with pytest.raises(InvalidParameterError):
        played(**changes)
