"""Shares from responses under a blanket: unbiased, with intervals that cover, of any number of messages."""

import numpy as np
import pytest

from shuffledp import FrequencyAnalyzer, KaryRandomizedResponse, UniformShuffler
from shuffledp.analyzers import BlanketAnalyzer, BlanketSummary
from shuffledp.core.errors import IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.randomizers import BlanketedResponse
from shuffledp.testing import SeededSource

SHARES = np.array([0.6, 0.25, 0.15])


def counted(model, truth, rng):
    """Counts of the messages of people with these answers, drawn from their law."""
    k, people = len(truth), sum(truth)
    law = np.full((k, k), model.q)
    np.fill_diagonal(law, model.p)
    own = sum(rng.multinomial(number, row) for number, row in zip(truth, law, strict=True))
    return own + rng.multinomial(rng.binomial(people * model.slots, model.filled), [1 / k] * k)


@pytest.mark.parametrize(("epsilon0", "messages", "people"), [(3.0, 0.3, 3000), (8.0, 2.0, 1000)])
def test_estimates_are_unbiased_and_their_intervals_cover(epsilon0, messages, people):
    model, runs = BlanketedResponse(epsilon0=epsilon0, domain_size=3, blanket_messages=messages).model, 800
    rng, truth, analyzer = np.random.default_rng(1), (people * SHARES).astype(int), BlanketAnalyzer()
    reports = people * model.num_messages
    found = [
        analyzer.estimate(BlanketSummary(model=model, counts=counted(model, truth, rng), num_reports=reports))
        for _ in range(runs)
    ]
    middle = np.array([each.estimate for each in found])
    stated = np.array([each.standard_error for each in found]).mean(axis=0)
    assert (np.abs(middle.mean(axis=0) - SHARES) < 4.5 * stated / np.sqrt(runs)).all()
    assert middle.std(axis=0) == pytest.approx(stated, rel=0.12)
    assert middle.sum(axis=1) == pytest.approx(np.ones(runs))
    covered = np.mean([(each.lower <= SHARES) & (each.upper >= SHARES) for each in found], axis=0)
    assert ((covered > 0.919) & (covered < 0.982)).all()  # of 800 runs, four standard deviations


def test_few_messages_have_intervals_that_cover_more():
    model = BlanketedResponse(epsilon0=8.0, domain_size=3, blanket_messages=0.1).model
    rng, truth, analyzer = np.random.default_rng(1), [60, 25, 15], BlanketAnalyzer()
    for _ in range(200):
        summary = BlanketSummary(model=model, counts=counted(model, truth, rng), num_reports=200)
        estimate = analyzer.estimate(summary)
        assert (estimate.lower <= SHARES).all()
        assert (estimate.upper >= SHARES).all()
        assert ((estimate.lower >= 0) & (estimate.upper <= 1)).all()


def test_parts_add_up_and_are_those_of_the_whole():
    randomizer, source = BlanketedResponse(epsilon0=5.0, domain_size=3, blanket_messages=1.5), SeededSource(1)
    reports = randomizer.randomize([0] * 300 + [2] * 100, source=source)
    analyzer, shuffler = BlanketAnalyzer(), UniformShuffler()
    whole = analyzer.summarize(shuffler.shuffle(reports, source=source))
    first, second = reports.take(slice(0, 300)), reports.take(slice(300, None))
    parts = [analyzer.summarize(shuffler.shuffle(each, source=source)) for each in (first, second)]
    assert (parts[0] + parts[1]).counts.tolist() == whole.counts.tolist()
    with pytest.raises(IncomparableError):
        parts[0] + BlanketSummary(
            model=BlanketedResponse(epsilon0=4.0, domain_size=3, blanket_messages=1.5).model,
            counts=np.zeros(3, dtype=np.int64),
            num_reports=0,
        )


def test_other_reports_and_empty_summaries_are_refused():
    view = UniformShuffler().shuffle(KaryRandomizedResponse(epsilon0=1.0, domain_size=3).randomize([0, 1]))
    with pytest.raises(UnsupportedModelError, match="responses under one"):
        BlanketAnalyzer().summarize(view)
    model = BlanketedResponse(epsilon0=1.0, domain_size=3, blanket_messages=1.0).model
    with pytest.raises(InvalidParameterError):
        BlanketAnalyzer().estimate(BlanketSummary(model=model, counts=np.zeros(3, dtype=np.int64), num_reports=0))
    with pytest.raises(UnsupportedModelError):
        FrequencyAnalyzer().summarize(
            UniformShuffler().shuffle(
                BlanketedResponse(epsilon0=1.0, domain_size=3, blanket_messages=1.0).randomize([0])
            )
        )
