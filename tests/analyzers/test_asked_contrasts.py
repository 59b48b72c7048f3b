"""Differences among those asked: quotients with one divisor, whose intervals (Fieller) cover as often as they say."""

import numpy as np
import pytest

from shuffledp import KaryRandomizedResponse
from shuffledp.analyzers import (
    About,
    FollowUpAnalyzer,
    FrequencyAnalyzer,
    FrequencySummary,
    TickAnalyzer,
    TickSummary,
    between,
    compared,
    within,
)
from shuffledp.core.estimates import NOT_ASKED
from shuffledp.randomizers import TickColumns

SHARES = np.array([0.16, 0.1, 0.04, 0.7])  # the last of people who are not asked
TRUE = np.array([0.2, 0.4, 0.2])  # differences among those asked


def among(counts, model):
    analyzer = FollowUpAnalyzer(analyzer=FrequencyAnalyzer(), minimum_batch=1)
    found = analyzer.estimate(FrequencySummary(model=model, counts=counts, num_reports=int(counts.sum())))
    return found.with_targets(("a", "b", "c", NOT_ASKED)).among_asked


def samples(runs, people, model, rng):
    """Counts of reports of random samples of a population."""
    law = SHARES * (model.p - model.q) + model.q
    return rng.multinomial(people, law, size=runs)


def held(contrasts, truth):
    """Share of runs in which all intervals hold, and in which each does by itself."""
    found = [compared([each], level=0.95)[0][0] for each in contrasts]
    alone = [each.intervals(0.95) for each in contrasts]
    together = np.mean([((one.lower <= truth) & (truth <= one.upper)).all() for one in found])
    return together, np.mean([(ends[:, 0] <= truth) & (truth <= ends[:, 1]) for ends in alone], axis=0)


@pytest.mark.parametrize(
    ("epsilon0", "people", "runs"),
    [
        (1.0, 6000, 120),
        pytest.param(1.0, 6000, 4000, marks=pytest.mark.deep),
        pytest.param(4.0, 3000, 4000, marks=pytest.mark.deep),
    ],
)
def test_pairs_of_answers_among_those_asked_are_covered_alone_and_together(epsilon0, people, runs):
    """Mutants: the share asked taken as certain; the errors of both taken as independent."""
    model, rng = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=4).model, np.random.default_rng(3)
    contrasts = [within(among(each, model)) for each in samples(runs, people, model, rng)]
    together, alone = held(contrasts, TRUE)
    off = 4 * np.sqrt(0.05 * 0.95 / runs)
    assert 0.95 - off < together < 0.95 + max(off, 0.02)
    assert alone == pytest.approx(np.full(3, 0.95), abs=off)


def test_a_difference_among_those_asked_is_that_of_all_people_by_the_share_asked():
    """Mutant: the slope of the divisor left out, which the errors to first order show."""
    model = KaryRandomizedResponse(epsilon0=3.0, domain_size=4).model
    counts = samples(1, 20_000, model, np.random.default_rng(5))[0]
    estimate = among(counts, model)
    found = estimate.difference()
    assert found.target == ("a - b", "a - c", "b - c")
    assert found.statistic == "frequency among those asked (difference)"
    assert found.about is About.POPULATION
    whole = estimate.whole.estimate
    assert found.estimate[1] == pytest.approx((whole[0] - whole[2]) / (1 - whole[3]))
    apart = found.upper - found.estimate
    assert apart / found.population_error == pytest.approx(np.full(3, apart[0] / found.population_error[0]), rel=0.02)
    assert found.estimate - found.lower == pytest.approx(apart, rel=0.1)


def test_two_releases_differ_among_those_asked_by_the_intervals_of_both():
    model, rng = KaryRandomizedResponse(epsilon0=2.0, domain_size=4).model, np.random.default_rng(7)
    runs = samples(240, 5000, model, rng)
    contrasts = [
        between(among(one, model), among(other, model)) for one, other in zip(runs[::2], runs[1::2], strict=True)
    ]
    together, alone = held(contrasts, np.zeros(3))
    assert together > 0.88
    assert (alone > 0.88).all()


def test_few_reports_have_the_longest_interval_that_their_ends_lead_to():
    model = KaryRandomizedResponse(epsilon0=4.0, domain_size=4).model
    few = within(among(np.array([20, 8, 4, 40]), model))
    assert few.about is About.ASKED
    assert few.joint(np.arange(3)) is None


def test_ticks_among_those_asked_are_about_the_people_asked():
    model = TickColumns(epsilon0=2.0, num_options=3, at_most=3).model
    people = 40_000
    support = np.rint(people * (model.q + np.array([0.3, 0.1, 0.5]) * (model.p - model.q))).astype(np.int64)
    summary = TickSummary(model=model, support=support, about=np.full(3, people), sets=None, num_reports=3 * people)
    analyzer = FollowUpAnalyzer(analyzer=TickAnalyzer(), minimum_batch=1)
    found = analyzer.estimate(summary).with_targets(("x", "y", NOT_ASKED)).among_asked.difference("x", "y")
    assert found.about is About.ASKED
    assert found.estimate[0] == pytest.approx(0.2 / 0.5, abs=1e-3)
    assert found.differs == (True,)
