"""Limits of probabilities err as rarely as they say, and what they show about epsilon follows from the definition."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from attacks.twins import TooTruthful, pipeline
from shuffledp.accounting import account_all
from shuffledp.attacks import Verdict, audit
from shuffledp.attacks.audit_statistics import (
    POWER,
    Event,
    best_event,
    chance_to_refute,
    clopper_pearson,
    least_found,
    loss,
    most_shown,
    others_of,
    runs_needed,
    to_width,
    trials_to_tell,
)
from shuffledp.core.flow import Reports
from shuffledp.core.guarantees import CentralDP, DSigmaPrivacy
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.testing import SeededSource

RUNS = 40
TAIL = 0.01
PROBABILITIES = np.concatenate([np.geomspace(1e-6, 0.5, 300), 1 - np.geomspace(1e-6, 0.5, 300)])
AUDIT_TAIL = 1e-3
EVENT_RUNS = 4000
EVENT_TAIL = 0.001


def chances_of_error(lower, upper):
    """For each probability the exact chance that it is below the lower limit, and that it is above the upper one."""
    law = stats.binom.pmf(np.arange(RUNS + 1)[:, None], RUNS, PROBABILITIES)
    return (law * (lower[:, None] > PROBABILITIES)).sum(axis=0), (law * (upper[:, None] < PROBABILITIES)).sum(axis=0)


def test_each_limit_errs_with_its_tail_at_most_for_every_probability():
    below, above = chances_of_error(*clopper_pearson(np.arange(RUNS + 1), RUNS, tail=TAIL))
    assert below.max() <= TAIL
    assert above.max() <= TAIL
    assert below.max() > 0.8 * TAIL  # and no rarer than need be


def test_limits_by_the_normal_approximation_would_not():
    rates = np.arange(RUNS + 1) / RUNS
    width = -stats.norm.ppf(TAIL) * np.sqrt(rates * (1 - rates) / RUNS)
    below, above = chances_of_error(rates - width, rates + width)
    assert min(below.max(), above.max()) > 10 * TAIL


@pytest.mark.parametrize("runs", [1, 2, 17, 100_000])
def test_limits_are_those_of_scipy(runs):
    for successes in {0, 1, runs // 3, runs - 1, runs}:
        lower, upper = clopper_pearson(successes, runs, tail=TAIL)
        expected = stats.binomtest(successes, runs).proportion_ci(1 - 2 * TAIL, method="exact")
        assert (float(lower), float(upper)) == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(
    ("detected", "mistaken", "delta", "shown"),
    [
        (0.5, 0.25, 0.0, math.log(2)),
        (0.5, 0.25, 0.25, 0.0),
        (0.5, 0.25, 0.4, math.log(0.4)),
        (0.5, 0.0, 0.1, math.inf),
        (0.1, 0.0, 0.1, -math.inf),
        (0.0, 0.0, 0.0, -math.inf),
    ],
)
def test_an_event_shows_the_least_epsilon_that_allows_its_probabilities(detected, mistaken, delta, shown):
    assert float(loss(detected, mistaken, delta=delta)) == pytest.approx(shown, abs=1e-12)


@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 8.0])
def test_the_runs_needed_show_the_claim_and_fewer_do_not(epsilon, delta):
    needed = runs_needed(epsilon, delta, tail=TAIL)
    enough, fewer = math.ceil(needed) + 1, math.floor(needed) - 1
    assert most_shown(enough, delta, tail=TAIL) > epsilon
    if fewer > 0:
        assert most_shown(fewer, delta, tail=TAIL) <= epsilon


def test_what_could_be_shown_at_most_is_what_an_attack_that_never_errs_shows():
    lower, upper = clopper_pearson([500, 0], 500, tail=TAIL)
    assert most_shown(500, 1e-3, tail=TAIL) == pytest.approx(float(loss(lower[0], upper[1], delta=1e-3)), rel=1e-9)


def test_measured_numbers_lose_the_digits_that_their_limits_leave_open():
    assert to_width(0.5123456, 0.48, 0.54) == "0.51"
    assert to_width(0.5123456, 0.5120, 0.5126, percent=True) == "51.23%"
    assert to_width(0.51, 0.1, 0.9, percent=True) == "51%"
    assert to_width(1.234, 0.5, math.inf) == "1.23"
    assert to_width(math.inf, 0.5, math.inf) == "inf"


class OtherLoss:
    """k-RR of another epsilon0 than its model says."""

    def __init__(self, *, claimed, true, domain_size):
        self.model = KaryRandomizedResponse(epsilon0=claimed, domain_size=domain_size).model
        self.real = KaryRandomizedResponse(epsilon0=true, domain_size=domain_size)

    def randomize(self, values, *, source=None):
        return Reports(self.real.randomize(values, source=source).columns, self.model)


def enumerated(claimed, true, runs, delta, *, others):
    """The exact probability, over both counts, that the lower limit of the loss is above the claim."""
    mistaken = (1 - delta) / (math.exp(true) + others)
    detected = math.exp(true) * mistaken + delta
    counts = np.arange(runs + 1)
    lower, upper = clopper_pearson(counts, runs, tail=AUDIT_TAIL)
    refuting = loss(lower[:, None], upper[None, :], delta=delta) > claimed
    weights = stats.binom.pmf(counts, runs, detected)[:, None] * stats.binom.pmf(counts, runs, mistaken)[None, :]
    return float(weights[refuting].sum())


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("others", [1.0, 9.0])
@pytest.mark.parametrize("claimed", [0.0, 0.5, 2.0])
def test_the_chance_to_refute_is_that_of_both_counts(claimed, others, delta):
    runs = 400
    for true in (claimed + 0.1, claimed + 0.4, claimed + 1.0, claimed + 3.0):
        found = chance_to_refute(claimed, true, runs, delta, tail=AUDIT_TAIL, others=others)
        assert found == pytest.approx(enumerated(claimed, true, runs, delta, others=others), abs=0.01)
    least = least_found(claimed, runs, delta, tail=AUDIT_TAIL, others=others)
    assert enumerated(claimed, least, runs, delta, others=others) == pytest.approx(POWER, abs=0.01)
    assert enumerated(claimed, claimed + 0.7 * (least - claimed), runs, delta, others=others) < POWER - 0.1


def test_no_event_of_a_loss_is_found_more_often_than_that_of_randomized_response_of_one_bit():
    ideal = chance_to_refute(0.5, 1.0, 400, 0.01, tail=AUDIT_TAIL)
    for others in (1.5, 3.0, 20.0):
        assert chance_to_refute(0.5, 1.0, 400, 0.01, tail=AUDIT_TAIL, others=others) < ideal


def test_the_shape_of_an_event_of_randomized_response_is_the_number_of_its_other_reports():
    model = KaryRandomizedResponse(epsilon0=1.5, domain_size=7).model
    assert others_of(float(model.channel().matrix[0, 0]), float(model.channel().matrix[0, 1])) == pytest.approx(6)
    assert others_of(0.9, 0.5) == others_of(0.9, 0.0) == 1.0


def test_the_number_of_trials_that_are_needed_is_the_least_that_are_enough():
    few = trials_to_tell(1.0, 2.0, 15, 0.0, tail=AUDIT_TAIL)
    assert chance_to_refute(1.0, 2.0, few, 0.0, tail=AUDIT_TAIL) >= POWER
    assert chance_to_refute(1.0, 2.0, int(0.9 * few), 0.0, tail=AUDIT_TAIL) < POWER
    assert trials_to_tell(1.0, 2.0, few, 0.0, tail=AUDIT_TAIL) is None
    assert math.isinf(least_found(1.0, 15, 0.0, tail=AUDIT_TAIL))
    assert trials_to_tell(1e-9, 2e-9, 15, 0.0, tail=AUDIT_TAIL) > 10**12 // 2  # and comes to an end


def found_of(claimed, true, domain_size, trials, audits):
    """Refutations of a twin of this true loss."""
    twin = pipeline(OtherLoss(claimed=claimed, true=true, domain_size=domain_size), domain_size=domain_size)
    claim = account_all(twin.model(10), delta=1e-6)[-1]
    return sum(
        audit(twin, claim, num_users=10, trials=trials, source=SeededSource(seed)).refuted for seed in range(audits)
    )


@pytest.mark.parametrize(
    ("claimed", "domain_size", "trials"),
    [
        (1.0, 10, 1000),
        pytest.param(2.0, 10, 1000, marks=pytest.mark.deep),
        pytest.param(2.0, 4, 1000, marks=pytest.mark.deep),
        pytest.param(0.5, 3, 300, marks=pytest.mark.deep),
        pytest.param(3.0, 50, 2000, marks=pytest.mark.deep),
    ],
)
def test_a_twin_with_the_loss_that_is_called_detectable_is_refuted_about_so_often(claimed, domain_size, trials):
    honest = pipeline(epsilon0=claimed, domain_size=domain_size)
    claim = account_all(honest.model(10), delta=1e-6)[-1]
    found = audit(honest, claim, num_users=10, trials=trials, source=SeededSource(2)).findings[0].detectable
    audits = 40
    # At a true chance of 0.85, less than 28 of 40 come in one of some 200 tests like this one.
    assert found_of(claimed, found, domain_size, trials, audits) >= 28
    assert found_of(claimed, (claimed + found) / 2, domain_size, trials, audits) < 28


def test_a_claim_that_could_hardly_have_been_refuted_is_counted_apart_and_says_how_many_trials_it_takes():
    honest = pipeline(epsilon0=0.5)
    claim = account_all(honest.model(10), delta=1e-6)[-1]
    report = audit(honest, claim, num_users=10, trials=40, source=SeededSource(1))
    (finding,) = report.findings
    assert finding.verdict is Verdict.CONSISTENT
    assert finding.weak
    assert report.weak == 1
    assert "1 claim audited, none refuted; 1 could hardly have been, with so few trials." in report.opening
    assert f"needs {finding.trials_needed:,} to find a true epsilon that is twice as large." in str(finding)
    enough = audit(honest, claim, num_users=10, trials=finding.trials_needed, source=SeededSource(1))
    assert enough.weak == 0
    assert "hardly" not in str(enough)


def test_of_a_view_it_is_reports_that_are_not_shuffled_that_must_be_told_from_a_small_claim():
    honest = pipeline(epsilon0=1.0)
    claim = account_all(honest.model(1000), delta=1e-6)[0]
    few, enough = (
        audit(honest, claim, num_users=1000, trials=trials, source=SeededSource(1)).findings[0] for trials in (60, 400)
    )
    assert 60 < few.trials_needed <= 400
    assert "or that of reports that are not shuffled" in few.power
    assert enough.trials_needed is None


ROWS = [(0.1, 2), (1.0, 2), (1.0, 10), (2.0, 10), (3.0, 100)]


@pytest.mark.parametrize(
    ("epsilon0", "domain_size"),
    [pytest.param(*row, marks=[] if row == (2.0, 10) else pytest.mark.deep) for row in ROWS],
)
def test_the_table_of_what_the_default_trials_show_of_one_report_is_what_they_show(epsilon0, domain_size):
    """The first rows of docs/attacks.md, by the seeds that it names."""
    honest = pipeline(epsilon0=epsilon0, domain_size=domain_size)
    twin = pipeline(TooTruthful(epsilon0=epsilon0, domain_size=domain_size), domain_size=domain_size)
    claim = account_all(honest.model(10), delta=1e-6)[-1]
    reports = {
        played: [audit(played, claim, num_users=10, source=SeededSource(seed)) for seed in range(10)]
        for played in (honest, twin)
    }
    shown = sorted(report.findings[0].evidence.epsilon_lower for report in reports[honest])[5]
    refuted = [sum(report.refuted for report in reports[played]) for played in (twin, honest)]
    row = f"| one report, k = {domain_size} | {epsilon0:.3f} | {shown:.3f} | {refuted[0]} of 10 | {refuted[1]} of 10 |"
    assert row in (Path(__file__).parents[2] / "docs" / "attacks.md").read_text(encoding="utf-8")


def scores(likely: float, unlikely: float) -> tuple[np.ndarray, np.ndarray]:
    """Two scores: the second one is 1 in these shares of the runs, the first one tells nothing."""
    runs = np.arange(EVENT_RUNS)
    return tuple(np.column_stack([runs, (runs < share * EVENT_RUNS).astype(float)]) for share in (likely, unlikely))


@pytest.mark.parametrize(
    ("shares", "sign", "likely"),
    [((0.1, 0.01), 1, "first"), ((0.01, 0.1), 1, "second"), ((0.9, 0.99), -1, "first"), ((0.99, 0.9), -1, "second")],
)
def test_the_rare_event_is_found_on_each_side_and_in_each_role(shares, sign, likely):
    first, second = scores(*shares)
    _, event = best_event(first, second, delta=0.0, tail=EVENT_TAIL)
    assert (event.column, event.sign, event.likely) == (1, sign, likely)
    assert event.count(first, second) == (400, 40)


def test_a_delta_moves_the_choice_from_a_rare_event_to_a_frequent_one():
    # Score 2 in 1% of runs and in none; score 1 or more in half of them and in a fifth.
    first, second = (np.zeros((EVENT_RUNS, 1)) for _ in range(2))
    first[: EVENT_RUNS // 2], second[: EVENT_RUNS // 5] = 1, 1
    first[: EVENT_RUNS // 100] = 2
    rare, frequent = (best_event(first, second, delta=delta, tail=EVENT_TAIL)[1] for delta in (0.0, 0.02))
    assert rare.count(first, second) == (EVENT_RUNS // 100, 0)
    assert frequent.count(first, second) == (EVENT_RUNS // 2, EVENT_RUNS // 5)


def test_where_nothing_is_shown_the_most_significant_difference_is_taken_and_not_an_event_that_always_comes():
    first, second = scores(0.53, 0.50)
    merit, event = best_event(first, second, delta=0.0, tail=EVENT_TAIL)
    assert merit[0] == 0.0
    assert event.column == 1


def test_the_curve_goes_up_from_corner_to_corner_through_the_event_itself():
    generator = np.random.default_rng(2)
    first, second = generator.normal(1, 1, (EVENT_RUNS, 1)), generator.normal(0, 1, (EVENT_RUNS, 1))
    event = Event(column=0, sign=1, threshold=0.5, likely="first")
    curve = np.array(event.roc(first, second))
    assert curve[0].tolist() == [0, 0]
    assert curve[-1].tolist() == [1, 1]
    assert (np.diff(curve, axis=0) >= 0).all()
    assert (curve[1:-1, 1] > curve[1:-1, 0]).all()
    assert 10 < len(curve) <= 42
    mirrored = Event(column=0, sign=-1, threshold=-0.5, likely="second")
    assert np.array(mirrored.roc(first, second))[5:-5, 1].min() > 0
    assert sum(event.count(first, second)) + sum(mirrored.count(first, second)) == 2 * EVENT_RUNS


def test_twice_a_claim_of_0_is_no_break_and_the_finding_says_which_one_is_looked_for():
    """Mutant: "a true alpha that is twice as large"."""
    honest = pipeline(epsilon0=0.5)
    claim = account_all(honest.model(10), delta=1e-6)[-1]
    (finding,) = audit(honest, claim, num_users=10, trials=40, source=SeededSource(1)).findings
    order = replace(claim, guarantee=DSigmaPrivacy(alpha=0.0, groups_digest="0" * 64))
    none = replace(finding, statement=order)
    assert none.power.endswith("to find a true alpha of 0.1 where 0 is claimed.")
    some = replace(finding, statement=replace(claim, guarantee=DSigmaPrivacy(alpha=0.5, groups_digest="0" * 64)))
    assert some.power.endswith("to find a true alpha that is twice as large.")
    central = replace(finding, statement=replace(claim, guarantee=CentralDP(epsilon=0.0, delta=1e-6)))
    assert central.power.endswith("to find the epsilon of reports that are not shuffled.")
