"""Shares among those asked: quotients with Fieller's intervals, exact ones of few reports, and a least number asked."""

import numpy as np
import pytest

from shuffledp import (
    AllSets,
    FrequencyAnalyzer,
    KaryRandomizedResponse,
    OneOption,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    TickAnalyzer,
    TickColumns,
    UniformShuffler,
    WordAnalyzer,
)
from shuffledp.analyzers import FollowUpAnalyzer, FrequencySummary, HistogramAnalyzer
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.estimates import NOT_ASKED
from shuffledp.core.text_codes import TextCode
from shuffledp.randomizers import MaskedPrefixes
from shuffledp.testing import SeededSource

SHARES = (0.1, 0.2, 0.1, 0.6)  # the last of people who are not asked


def counted(model, truth, rng):
    """Support counts of the reports of so many people with each value, drawn from their law."""
    k = len(truth)
    if model.kind == "k-rr":
        law = np.full((k, k), model.q)
        np.fill_diagonal(law, model.p)
        return sum(rng.multinomial(number, row) for number, row in zip(truth, law, strict=True))
    others = sum(truth) - np.array(truth)
    return rng.binomial(truth, model.p) + rng.binomial(others, model.q)


def covered(model, people, runs, *, analyzer=None, level=0.95, shares=SHARES):
    """How often each interval among those asked holds the truth, and spread over standard error."""
    rng, truth = np.random.default_rng(1), [round(share * people) for share in shares]
    analyzer = analyzer or FollowUpAnalyzer(analyzer=FrequencyAnalyzer(level=level), minimum_batch=1, level=level)
    wanted, held, errors, stated = np.array(truth[:-1]) / sum(truth[:-1]), [], [], []
    for _ in range(runs):
        summary = FrequencySummary(model=model, counts=counted(model, truth, rng), num_reports=sum(truth))
        found = analyzer.estimate(summary).among_asked
        held.append((found.lower <= wanted) & (wanted <= found.upper))
        errors.append(found.estimate - wanted)
        stated.append(found.standard_error)
    return np.mean(held, axis=0), np.std(errors, axis=0) / np.mean(stated, axis=0)


@pytest.mark.parametrize(
    ("randomizer", "epsilon0", "people"),
    [
        (KaryRandomizedResponse, 1.0, 3000),
        (KaryRandomizedResponse, 4.0, 6000),
        pytest.param(OptimizedUnaryEncoding, 2.0, 3000, marks=pytest.mark.deep),
    ],
)
def test_intervals_of_many_reports_cover_as_often_as_they_say(randomizer, epsilon0, people):
    held, ratio = covered(randomizer(epsilon0=epsilon0, domain_size=4).model, people, 600)
    assert (held >= 0.915).all()  # of 600 runs a level of .95 leaves four standard deviations
    assert (held <= 0.985).all()
    assert ratio == pytest.approx(np.ones(3), abs=0.12)


@pytest.mark.deep
@pytest.mark.parametrize(("epsilon0", "people", "shares"), [(1.0, 3000, SHARES), (4.0, 3000, (0.02, 0.05, 0.03, 0.9))])
def test_intervals_of_many_reports_cover_in_many_runs(epsilon0, people, shares):
    held, _ = covered(KaryRandomizedResponse(epsilon0=epsilon0, domain_size=4).model, people, 6000, shares=shares)
    assert (np.abs(held - 0.95) < 0.013).all()


def test_intervals_of_few_reports_cover_at_least_as_often_as_they_say():
    held, _ = covered(KaryRandomizedResponse(epsilon0=4.0, domain_size=4).model, 100, 150)
    assert (held >= 0.95).all()


def test_errors_of_both_shares_go_together():
    """With the errors of an answer and of who was asked taken as independent, intervals would be too short or long."""
    model = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
    summary = FrequencySummary(model=model, counts=np.array([1500, 1500]), num_reports=3000)
    found = FollowUpAnalyzer(analyzer=FrequencyAnalyzer(), minimum_batch=1).estimate(summary)
    assert found.among_asked.estimate == pytest.approx([1.0])
    assert found.among_asked.standard_error == pytest.approx([0.0], abs=1e-9)  # all who are asked give the one answer


def test_shares_are_given_where_more_than_the_smallest_batch_were_asked_by_the_estimate():
    model = KaryRandomizedResponse(epsilon0=3.0, domain_size=4).model
    summary = FrequencySummary(model=model, counts=np.array([100, 200, 150, 550]), num_reports=1000)
    number = 1000 * (1 - FrequencyAnalyzer().estimate(summary).estimate[-1])

    def found(least, analyzer=None):
        return FollowUpAnalyzer(analyzer=analyzer or FrequencyAnalyzer(), minimum_batch=least).estimate(summary)

    below, above = found(int(number)), found(int(number) + 1)
    assert below.among_asked.target == ("0", "1", "2")
    assert below.among_asked.estimate.sum() == pytest.approx(1.0)
    assert above.among_asked is None
    assert above.derived == ()
    renamed = below.with_targets(("a", "b", "c", NOT_ASKED))
    assert renamed.among_asked.target == ("a", "b", "c")
    assert {row["statistic"] for row in renamed.rows()} == {"frequency", "frequency among those asked"}
    bins = HistogramAnalyzer(edges=(0.0, 1.0, 2.0, 3.0))
    assert found(int(number), bins).quantiles is not None
    assert found(int(number) + 1, bins).quantiles is None  # which are of those asked, too


def test_quantiles_are_of_those_who_were_asked_and_answered():
    model = KaryRandomizedResponse(epsilon0=20.0, domain_size=4).model
    summary = FrequencySummary(model=model, counts=np.array([100, 100, 300, 500]), num_reports=1000)
    bins = HistogramAnalyzer(edges=(0.0, 1.0, 2.0), quantiles=(0.5,))
    found = FollowUpAnalyzer(analyzer=bins, minimum_batch=10).estimate(summary)
    assert found.quantiles.estimate == pytest.approx([1.0], abs=1e-3)
    assert found.among_asked.estimate == pytest.approx([0.2, 0.2, 0.6], abs=1e-3)  # 300 did not answer


def ticks_of(count, asked):
    rng = np.random.default_rng(1)
    ticks = np.zeros((count, 4), dtype=bool)
    ticks[:, 3] = rng.random(count) >= asked
    ticks[:, :3] = (rng.random((count, 3)) < (0.5, 0.2, 0.1)) & ~ticks[:, 3:]
    return ticks


def ticks_held(randomizer, count, asked, runs):
    ticks, held, errors, stated = ticks_of(count, asked), [], [], []
    wanted = ticks[:, :3].sum(axis=0) / (~ticks[:, 3]).sum()
    analyzer = FollowUpAnalyzer(analyzer=TickAnalyzer(), minimum_batch=1)
    for run in range(runs):
        source = SeededSource(run)
        view = UniformShuffler().shuffle(randomizer.randomize(ticks, source=source), source=source)
        found = analyzer.estimate(analyzer.summarize(view)).among_asked
        held.append((found.lower <= wanted) & (wanted <= found.upper))
        errors.append(found.estimate - wanted)
        stated.append(found.standard_error)
    return np.mean(held, axis=0), np.std(errors, axis=0) / np.mean(stated, axis=0)


@pytest.mark.parametrize(
    ("kind", "epsilon0", "count", "runs"),
    [
        (AllSets, 3.0, 600, 250),
        pytest.param(TickColumns, 2.0, 1000, 400, marks=pytest.mark.deep),
        pytest.param(AllSets, 2.0, 3000, 400, marks=pytest.mark.deep),
        pytest.param(OneOption, 3.0, 4000, 400, marks=pytest.mark.deep),
    ],
)
def test_shares_of_ticks_among_those_asked_cover(kind, epsilon0, count, runs):
    held, ratio = ticks_held(kind(epsilon0=epsilon0, num_options=4, at_most=3), count, 0.4, runs)
    assert (held >= 0.895).all()
    assert ratio == pytest.approx(np.ones(3), abs=0.17)  # with their covariance, which this would tell


def test_words_among_those_asked_hold_together_with_those_of_all_people():
    code = TextCode("letters", 4)
    randomizer = MaskedPrefixes(epsilon0=8.0, num_bits=code.num_bits)
    answers = randomizer.coded(["bus"] * 2000 + ["bike"] * 1000, code)
    answers = np.concatenate([answers, np.zeros((3000, answers.shape[1]), dtype=answers.dtype)])
    source = SeededSource(1)
    view = UniformShuffler().shuffle(randomizer.randomize(answers, source=source), source=source)
    analyzer = FollowUpAnalyzer(analyzer=WordAnalyzer(code=code, follow_up=True), minimum_batch=100)
    found = analyzer.estimate(analyzer.summarize(view))
    assert found.target == (NOT_ASKED, "bus", "bike", "(other words)")
    assert found.not_spelled == 0
    among = found.among_asked
    assert among.target == ("bus", "bike")
    for row, truth in enumerate((2 / 3, 1 / 3)):
        assert among.lower[row] <= truth <= among.upper[row]
        assert among.lower[row] == pytest.approx(found.lower[row + 1] / (1 - found.lower[0]))


def test_a_word_cannot_have_the_name_of_people_who_were_not_asked():
    with pytest.raises(InvalidParameterError, match="not asked"):
        WordAnalyzer(code=TextCode("bytes", 16), known=(NOT_ASKED,))


def test_reports_whose_errors_of_values_go_together_in_an_unknown_way_are_refused():
    randomizer = OptimizedLocalHashing(epsilon0=1.0, domain_size=3)
    view = UniformShuffler().shuffle(randomizer.randomize([0, 1, 2] * 20))
    analyzer = FollowUpAnalyzer(analyzer=FrequencyAnalyzer(), minimum_batch=1)
    with pytest.raises(UnsupportedModelError, match="covariances"):
        analyzer.estimate(analyzer.summarize(view))


@pytest.mark.parametrize("wrong", [{"minimum_batch": 0}, {"level": 1.0}, {"analyzer": 3}])
def test_other_arguments_are_refused(wrong):
    with pytest.raises(InvalidParameterError):
        FollowUpAnalyzer(**{"analyzer": FrequencyAnalyzer(), "minimum_batch": 1} | wrong)


def test_errors_of_options_in_whole_sets_go_together_as_their_law_says():
    """People hold {first}, {second} or neither: the covariance of the two supports, added up over all sets."""
    model = AllSets(epsilon0=2.0, num_options=4, at_most=2).model
    sets, own = model.sets(), {"first": 1, "second": 2, "neither": 0}
    law = np.full((len(sets), len(sets)), model.response.q)
    np.fill_diagonal(law, model.response.p)
    rows = [int(np.flatnonzero((sets == (np.arange(4) == place - 1)).all(axis=1))[0]) for place in own.values()]
    one, other = sets[:, 0].astype(float), sets[:, 1].astype(float)
    covariances = [law[row] @ (one * other) - (law[row] @ one) * (law[row] @ other) for row in rows]
    for shares in ((0.3, 0.5, 0.2), (0.0, 0.9, 0.1), (0.0, 0.0, 1.0)):
        wanted = np.dot(shares, covariances) / (model.p - model.q) ** 2
        assert model.apart_covariance(np.array(shares[0]), shares[1]) == pytest.approx(wanted, rel=1e-9)
    assert TickColumns(epsilon0=2.0, num_options=4, at_most=2).model.apart_covariance(np.array(0.3), 0.5) == 0


def test_people_asked_about_one_option_are_drawn_without_those_asked_about_another():
    """All ways to ask four people about one of two options, of those in which both are asked: the mean product."""
    model = OneOption(epsilon0=20.0, num_options=2, at_most=1).model
    answers = np.array([[1, 0], [0, 1], [0, 1], [0, 0]])
    errors, chances = [], []
    for drawn in np.ndindex(2, 2, 2, 2):
        groups = [answers[np.array(drawn) == option][:, option] for option in (0, 1)]
        if min(map(len, groups)) == 2:
            errors.append((groups[0].mean() - 0.25) * (groups[1].mean() - 0.5))
            chances.append(1)
    # of a population of four, n - 1 stands where of many people n does
    wanted = float(model.apart_covariance(np.array(0.25), 0.5)) / 3
    assert np.average(errors, weights=chances) == pytest.approx(wanted)
