"""Shares of ticks: unbiased, with intervals that cover, of kept ticks, by every way of asking."""

import numpy as np
import pytest

from shuffledp import AllSets, FrequencyAnalyzer, OneOption, TickAnalyzer, TickColumns, UniformShuffler
from shuffledp.analyzers import TickSummary
from shuffledp.core.errors import IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import View
from shuffledp.testing import SeededSource

SHARES = (0.5, 0.2, 0.04)


def people(count, seed=1):
    return np.random.default_rng(seed).random((count, 3)) < SHARES


def estimated(randomizer, ticks, analyzer=None, seed=1):
    source = SeededSource(seed)
    view = UniformShuffler().shuffle(randomizer.randomize(ticks, source=source), source=source)
    analyzer = analyzer or TickAnalyzer()
    return analyzer.estimate(analyzer.summarize(view))


@pytest.mark.parametrize(
    ("kind", "epsilon0", "count"),
    [
        (TickColumns, 2.0, 400),
        pytest.param(OneOption, 3.0, 900, marks=pytest.mark.deep),
        pytest.param(AllSets, 3.0, 400, marks=pytest.mark.deep),
        pytest.param(TickColumns, 5.0, 60, marks=pytest.mark.deep),
        pytest.param(AllSets, 5.0, 60, marks=pytest.mark.deep),
        pytest.param(OneOption, 4.0, 150, marks=pytest.mark.deep),
    ],
)
def test_estimates_are_unbiased_and_their_intervals_cover(kind, epsilon0, count):
    randomizer, ticks, runs = kind(epsilon0=epsilon0, num_options=3, at_most=3), people(count), 400
    found = [estimated(randomizer, ticks, seed=run) for run in range(runs)]
    truth = ticks.mean(axis=0)
    middle = np.array([each.estimate for each in found])
    errors = np.array([each.standard_error for each in found])
    spread = middle.std(axis=0)
    assert (np.abs(middle.mean(axis=0) - truth) < 4.5 * spread / np.sqrt(runs)).all()
    assert np.sqrt((errors**2).mean(axis=0)) == pytest.approx(spread, rel=0.16)
    lower, upper = (np.array([getattr(each, end) for each in found]) for end in ("lower", "upper"))
    covered = ((lower <= truth) & (truth <= upper)).mean(axis=0)
    assert (covered >= 0.905).all()  # of 400 runs a level of .95 leaves four standard deviations
    if count > 300:
        assert (covered <= 0.99).all()


def test_the_standard_error_is_the_exact_one_given_the_answers():
    randomizer, ticks = TickColumns(epsilon0=1.0, num_options=3, at_most=3), people(5000)
    p, q = randomizer.model.p, randomizer.model.q
    found = estimated(randomizer, ticks)
    assert found.standard_error == pytest.approx(np.sqrt(p * q / 5000) / (p - q) * np.ones(3), rel=1e-9)
    expected = np.sqrt(randomizer.model.noise_variance(0.1) / 5000)
    assert expected == pytest.approx(np.sqrt(p * q / 5000) / (p - q), rel=1e-9)


def test_the_expected_variance_of_one_option_counts_who_is_asked():
    model = OneOption(epsilon0=4.0, num_options=20, at_most=20).model
    odds = np.exp(4.0)
    expected = 20 * odds / (odds - 1) ** 2 + 0.1 * 0.9 * 19
    assert model.noise_variance(0.1) == pytest.approx(expected, rel=1e-5)


def test_pairs_are_estimated_from_whole_sets_alone():
    ticks = people(20_000)
    analyzer = TickAnalyzer(pairs=True)
    found = estimated(AllSets(epsilon0=6.0, num_options=3, at_most=3), ticks, analyzer)
    (pairs,) = found.derived
    assert pairs.target == ("0 & 1", "0 & 2", "1 & 2")
    truth = [(ticks[:, one] & ticks[:, other]).mean() for one, other in ((0, 1), (0, 2), (1, 2))]
    assert (np.abs(pairs.estimate - truth) < 5 * pairs.standard_error).all()
    named = found.with_targets(("a", "b", "c"))
    assert named.derived[0].target == ("a & b", "a & c", "b & c")
    assert estimated(TickColumns(epsilon0=6.0, num_options=3, at_most=3), ticks, analyzer).derived == ()


def test_estimates_are_of_kept_ticks():
    ticks = np.ones((20_000, 4), dtype=bool)
    found = estimated(TickColumns(epsilon0=8.0, num_options=4, at_most=1), ticks)
    assert found.estimate == pytest.approx(np.full(4, 0.25), abs=0.03)


def test_summaries_of_parts_add_up_and_those_of_other_models_do_not():
    randomizer, source = AllSets(epsilon0=2.0, num_options=3, at_most=2), SeededSource(2)
    view = UniformShuffler().shuffle(randomizer.randomize(people(300), source=source), source=source)
    analyzer = TickAnalyzer(pairs=True)
    whole, parts = analyzer.summarize(view), [analyzer.summarize(part) for part in view.parts(70)]
    total = sum(parts[1:], parts[0])
    assert (total.support == whole.support).all()
    assert (total.sets == whole.sets).all()
    other = OneOption(epsilon0=2.0, num_options=3, at_most=2).randomize(people(300))
    with pytest.raises(IncomparableError):
        whole + analyzer.summarize(UniformShuffler().shuffle(other))


def test_an_option_about_which_nobody_was_asked_has_no_estimate():
    model = OneOption(epsilon0=2.0, num_options=3, at_most=2).model
    zero = np.zeros(3, dtype=np.int64)
    summary = TickSummary(model=model, support=zero, about=np.array([3, 0, 2]), num_reports=5)
    with pytest.raises(InvalidParameterError, match="one report or more about every option"):
        TickAnalyzer().estimate(summary)


def test_analyzers_refuse_reports_of_another_kind():
    source = SeededSource(3)
    reports = TickColumns(epsilon0=2.0, num_options=3, at_most=2).randomize(people(10), source=source)
    view = View(reports=reports, shuffle=UniformShuffler().model(10))
    with pytest.raises(UnsupportedModelError):
        FrequencyAnalyzer().summarize(view)
