"""What an audit says that it could have found is found so probably, and what it says that it could not is not."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from attacks.twins import TooTruthful, pipeline
from shuffledp.accounting import account_all
from shuffledp.attacks import Verdict, audit
from shuffledp.attacks.intervals import clopper_pearson, loss
from shuffledp.attacks.power import POWER, chance_to_refute, least_found, others_of, trials_to_tell
from shuffledp.flow import Reports
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.testing import SeededSource

TAIL = 1e-3


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
    lower, upper = clopper_pearson(counts, runs, tail=TAIL)
    refuting = loss(lower[:, None], upper[None, :], delta=delta) > claimed
    weights = stats.binom.pmf(counts, runs, detected)[:, None] * stats.binom.pmf(counts, runs, mistaken)[None, :]
    return float(weights[refuting].sum())


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("others", [1.0, 9.0])
@pytest.mark.parametrize("claimed", [0.0, 0.5, 2.0])
def test_the_chance_to_refute_is_that_of_both_counts(claimed, others, delta):
    runs = 400
    for true in (claimed + 0.1, claimed + 0.4, claimed + 1.0, claimed + 3.0):
        found = chance_to_refute(claimed, true, runs, delta, tail=TAIL, others=others)
        assert found == pytest.approx(enumerated(claimed, true, runs, delta, others=others), abs=0.01)
    least = least_found(claimed, runs, delta, tail=TAIL, others=others)
    assert enumerated(claimed, least, runs, delta, others=others) == pytest.approx(POWER, abs=0.01)
    assert enumerated(claimed, claimed + 0.7 * (least - claimed), runs, delta, others=others) < POWER - 0.1


def test_no_event_of_a_loss_is_found_more_often_than_that_of_randomized_response_of_one_bit():
    ideal = chance_to_refute(0.5, 1.0, 400, 0.01, tail=TAIL)
    for others in (1.5, 3.0, 20.0):
        assert chance_to_refute(0.5, 1.0, 400, 0.01, tail=TAIL, others=others) < ideal


def test_the_shape_of_an_event_of_randomized_response_is_the_number_of_its_other_reports():
    model = KaryRandomizedResponse(epsilon0=1.5, domain_size=7).model
    assert others_of(float(model.channel().matrix[0, 0]), float(model.channel().matrix[0, 1])) == pytest.approx(6)
    assert others_of(0.9, 0.5) == others_of(0.9, 0.0) == 1.0


def test_the_number_of_trials_that_are_needed_is_the_least_that_are_enough():
    few = trials_to_tell(1.0, 2.0, 15, 0.0, tail=TAIL)
    assert chance_to_refute(1.0, 2.0, few, 0.0, tail=TAIL) >= POWER
    assert chance_to_refute(1.0, 2.0, int(0.9 * few), 0.0, tail=TAIL) < POWER
    assert trials_to_tell(1.0, 2.0, few, 0.0, tail=TAIL) is None
    assert math.isinf(least_found(1.0, 15, 0.0, tail=TAIL))
    assert trials_to_tell(1e-9, 2e-9, 15, 0.0, tail=TAIL) > 10**12 // 2  # and comes to an end


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
