import json
import math

import numpy as np
import pytest
from scipy.stats import binom, hypergeom, norm, t

from attacks.seen import town, view_of
from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.d_sigma.attacks.evaluation import InferenceEvaluation, MajorityVote, evaluate
from shuffledp.protocols.d_sigma.attacks.side_information import SideInformation, similar_people
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
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


class Recorded:
    """The vote; what it guessed in each run is kept."""

    def __init__(self):
        self.guesses = []

    def infer(self, view, side_information):
        self.guesses.append(MajorityVote().infer(view, side_information))
        return self.guesses[-1]


def student(mean, error, trials, level):
    reach = t.ppf((1 + level) / 2, trials - 1) * error
    return mean - reach, mean + reach


def test_limits_and_errors_are_those_of_the_runs_that_were_played():
    """Everything again from the guesses: which people count in which run follows from the seed."""
    attack, level, controls = Recorded(), 0.9, 40
    found = played(attack, control_runs=controls, level=level)
    draw = np.random.Generator(SeededSource(1).substream("evaluation").bit_generator)
    hits, alone = np.array(attack.guesses[:30]) == ANSWERS, np.array(attack.guesses[30:])
    for _ in hits:
        draw.integers(1000)
    whom = draw.integers(1000, size=controls)
    without = alone[np.arange(controls), whom] == ANSWERS[whom]
    apart = hits.mean(axis=0)[whom] - without
    of_runs, of_controls = hits.mean(axis=1).std(ddof=1) / np.sqrt(30), apart.std(ddof=1) / np.sqrt(controls)
    assert found.success_error == pytest.approx(of_runs)
    assert [found.advantage, found.control_error] == pytest.approx([apart.mean(), of_controls])
    assert found.advantage_error == pytest.approx(math.hypot(of_runs, of_controls))
    assert found.control == pytest.approx(found.success - apart.mean())
    assert found.success_limits == pytest.approx(student(found.success, of_runs, 30, level))
    assert found.advantage_limits == pytest.approx(student(apart.mean(), found.advantage_error, 30, level))
    vulnerable = [(hits[start : start + 10].sum(axis=0) >= 9).mean() for start in (0, 10, 20)]
    assert [found.vulnerable, found.vulnerable_error] == pytest.approx(
        [np.mean(vulnerable), np.std(vulnerable, ddof=1) / np.sqrt(3)]
    )


@pytest.mark.deep
def test_limits_and_errors_cover_at_the_level_that_is_stated():
    """300 evaluations of two people at 80%. Limits of twice the tail miss a third, errors of one term as many."""
    times, truth = 300, np.e / (1 + np.e)
    missed = {"success_limits": 0, "advantage_limits": 0, "advantage_error": 0}
    for seed in range(times):
        found = played(
            answers=[0, 1],
            side_information=SideInformation(neighbors=[[0], [1]]),
            num_runs=120,
            repetitions=1,
            control_runs=200,
            level=0.8,
            source=SeededSource(seed),
        )
        expected = truth - (1 - truth)  # a person's report is replaced by one of the other answer
        missed["success_limits"] += not found.success_limits[0] <= truth <= found.success_limits[1]
        missed["advantage_limits"] += not found.advantage_limits[0] <= expected <= found.advantage_limits[1]
        missed["advantage_error"] += abs(found.advantage - expected) > norm.ppf(0.9) * found.advantage_error
    most = binom.ppf(0.999, times, 0.2)
    assert max(missed.values()) <= most
    assert missed["advantage_error"] >= binom.ppf(1e-3, times, 0.2)  # nor are errors too wide


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


@pytest.mark.parametrize("reproducible", [True, False])
def test_a_fixed_permutation_is_that_of_all_runs_of_a_repetition_and_of_no_other(reproducible):
    """Reports are true answers here: what a slot shows tells which permutation was drawn."""
    attack = Recorded()
    found = played(
        attack,
        randomizer=KaryRandomizedResponse(epsilon0=30.0, domain_size=2),
        shuffler=UniformShuffler(),
        permutations="fixed",
        control_runs=2,
        source=SeededSource(1) if reproducible else None,
    )
    runs = np.array(attack.guesses[:30]).reshape(3, 10, 1000)
    assert (runs == runs[:, :1]).all()
    assert len(np.unique(np.array(attack.guesses), axis=0)) == 3 + 2
    assert found.vulnerable == pytest.approx(found.success) == pytest.approx((runs == ANSWERS).mean())
    shares = (runs[:, 0] == ANSWERS).mean(axis=1)
    assert found.success_error == pytest.approx(shares.std(ddof=1) / np.sqrt(3))
    assert found.success_limits == pytest.approx(student(found.success, found.success_error, 3, 0.95))
    assert found.seeded is reproducible
    assert "10 runs with one permutation" in str(found)


def test_one_permutation_leaves_people_vulnerable_whom_fresh_ones_do_not():
    """A uniform shuffle of 1,000 people with even answers: who has how many of 25 slots by chance is hypergeometric."""
    near = SideInformation(neighbors=(np.arange(1000)[:, None] + np.arange(25)) % 1000)
    given = {"answers": np.arange(1000) % 2, "side_information": near, "shuffler": UniformShuffler(), "num_runs": 20}
    given["randomizer"] = KaryRandomizedResponse(epsilon0=2.5, domain_size=2)
    truth, alike = 1 / (1 + np.exp(-2.5)), np.arange(26)
    votes = [np.convolve(binom.pmf(alike, k, truth), binom.pmf(alike, 25 - k, 1 - truth)) for k in alike]
    win = np.array([each[13:].sum() for each in votes])
    law = hypergeom.pmf(alike, 1000, 500, 25)
    fixed = played(**given, permutations="fixed", control_runs=1)
    assert fixed.vulnerable == pytest.approx(law @ binom.sf(17, 20, win), abs=0.03)
    assert fixed.vulnerable > 0.1
    fresh = played(**given, control_runs=1)
    assert fresh.vulnerable == pytest.approx(binom.sf(17, 20, law @ win), abs=0.003)
    assert fresh.vulnerable < 0.01


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
    for text in ("The attack guesses", "limits", "own reports give away", "with confidence 0.95"):
        assert text in str(found)
    assert InferenceEvaluation.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_one_run_tells_no_error():
    found = played(num_runs=1, repetitions=1, control_runs=1)
    assert (found.success_error, found.control_error, found.advantage_error, found.vulnerable_error) == (None,) * 4
    assert "standard error not known" in str(found)
    assert InferenceEvaluation.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert played(num_runs=2, repetitions=1, control_runs=1).success_error > 0


@pytest.mark.parametrize("attack", [None, MajorityVote, "vote"])
def test_what_is_no_attack_is_refused(attack):
    with pytest.raises(InvalidParameterError, match="attack must be"):
        evaluate(
            attack,
            randomizer=KaryRandomizedResponse(epsilon0=1.0, domain_size=2),
            shuffler=IdentityShuffler(),
            answers=ANSWERS,
            side_information=ALONE,
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"num_runs": 10**13},
        {"repetitions": 10**13},
        {"control_runs": 10**13},
        {"randomizer": None},
        {"shuffler": IdentityShuffler},
        {"vulnerable_from": float("nan")},
        {"vulnerable_from": "0.9"},
        {"answers": np.ma.masked_equal(ANSWERS, 1)},
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
        {"permutations": "one"},
        {"answers": [0.5, 0.5]},
        {"answers": [1]},
    ],
)
def test_bad_arguments_are_refused(changes):
    with pytest.raises(InvalidParameterError):
        played(**changes)


def test_the_majority_of_the_reports_looked_at_wins_and_ties_go_to_the_commoner_value():
    near = SideInformation(neighbors=np.array([[0, 1, 2], [1, 2, 3], [0, 2, -1], [-1, -1, -1], [3, 4, -1]]))
    view = view_of([0, 0, 2, 2, 2], domain_size=3)
    assert MajorityVote().infer(view, near).tolist() == [0, 2, 2, 2, 2]


def test_shuffling_inside_places_alone_leaves_fewer_people_vulnerable_than_no_shuffle():
    """Footnote 4 of the paper: where people share a place, rho is below plain local randomizing already at r = 0."""
    place, privileged, answers = town()
    side = SideInformation(
        neighbors=similar_people(Groups.from_radius(place, 2.0), count=25, privileged=privileged),
    )
    randomizer = KaryRandomizedResponse(epsilon0=2.5, domain_size=2)
    shufflers = {
        "none": IdentityShuffler(),
        "r = 0": MallowsShuffler(groups=Groups.from_radius(place, 0.0), alpha=4.0),
        "uniform": UniformShuffler(),
    }
    rho = {
        name: evaluate(
            MajorityVote(),
            randomizer=randomizer,
            shuffler=shuffler,
            answers=answers,
            side_information=side,
            num_runs=20,
            repetitions=2,
            source=SeededSource(5),
        )
        for name, shuffler in shufflers.items()
    }
    assert rho["none"].vulnerable > 0.9
    assert rho["r = 0"].vulnerable < 0.5 * rho["none"].vulnerable
    assert rho["r = 0"].vulnerable < 0.2
    assert abs(rho["uniform"].success - 0.5) < 0.05
