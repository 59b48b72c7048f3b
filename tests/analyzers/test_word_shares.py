"""Words of open answers: no false ones, intervals that hold, and the chances that a plan states."""

import json
from pathlib import Path

import numpy as np
import pytest

from shuffledp import MaskedPrefixes, TextCode, UniformShuffler, WordAnalyzer
from shuffledp.analyzers import OTHERS, search, threshold
from shuffledp.core.errors import IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.planning import fakes_to_plant, find_chance, least_share, planned_thresholds
from shuffledp.randomizers import KaryRandomizedResponse, MaskedPrefixModel
from shuffledp.testing import SeededSource

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "questions.json").read_text(encoding="utf-8"))
CODE = TextCode("letters", 4)
RANDOMIZER = MaskedPrefixes(epsilon0=6.0, num_bits=CODE.num_bits)
WORDS = ["bus", "car", "bike", "tram", "walk"]
SHARES = [0.4, 0.25, 0.15, 0.12, 0.08]


def estimated(texts, label=0, randomizer=RANDOMIZER, **options):
    reports = randomizer.randomize(randomizer.coded(texts, CODE), source=SeededSource(label))
    analyzer = WordAnalyzer(code=CODE, **options)
    return analyzer.estimate(analyzer.summarize(UniformShuffler().shuffle(reports)))


def sample(num_users, generator):
    return [WORDS[each] for each in generator.choice(len(WORDS), size=num_users, p=SHARES)]


# ---- golden --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reports", "values", "candidates", "alpha", "least"), GOLDEN["thresholds"]["rows"])
def test_thresholds_are_the_least_that_keep_the_chance(reports, values, candidates, alpha, least):
    assert threshold(reports, values, candidates, alpha) == least


@pytest.mark.parametrize(("share", "people", "bits", "epsilon0", "least", "chance"), GOLDEN["find_chances"]["rows"])
def test_the_chance_of_finding_a_word_is_as_worked_out_independently(share, people, bits, epsilon0, least, chance):  # noqa: PLR0917
    model = MaskedPrefixModel.from_epsilon0(epsilon0=epsilon0, num_bits=80, prefix_bits=bits)
    assert list(planned_thresholds(model, people, share, 0.05)) == least
    assert find_chance(model, people, share, alpha=0.05) == pytest.approx(chance, abs=1e-6)


ROWS = GOLDEN["least_shares"]["rows"]


@pytest.mark.parametrize(
    ("epsilon", "people", "bits", "chunk", "levels", "epsilon0", "truth", "share"),
    [*ROWS[:2], *(pytest.param(*row, marks=pytest.mark.deep) for row in ROWS[2:])],
)
def test_the_least_share_that_is_found_is_as_worked_out_independently(  # noqa: PLR0917
    epsilon, people, bits, chunk, levels, epsilon0, truth, share
):
    from shuffledp import ProtocolModel, account

    model = MaskedPrefixModel.from_epsilon0(epsilon0=epsilon0, num_bits=bits, prefix_bits=chunk)
    assert model.num_levels == levels
    assert model.p == pytest.approx(truth, rel=1e-3)
    assert least_share(model, people, alpha=0.05) == pytest.approx(share, rel=0.01)
    stated = account(ProtocolModel(local=model, shuffle=UniformShuffler().model(people)), delta=1e-6).guarantee.epsilon
    assert stated == pytest.approx(epsilon, rel=2e-3)


# ---- simulations ---------------------------------------------------------------------------------------------------


def false_words(runs, alpha, counted=threshold, monkeypatch=None):
    """Runs in which a word is found that nobody wrote."""
    if monkeypatch is not None:
        monkeypatch.setattr("shuffledp.analyzers.prefix_search.threshold", counted)
    code = TextCode("letters", 3)
    randomizer = MaskedPrefixes(epsilon0=3.5, num_bits=15, prefix_bits=5)
    generator, found = np.random.default_rng(8), 0
    words = [f"{a}{b}x" for a in "abcdefgh" for b in "klmno"]
    chances = 1 / np.arange(1, 41) ** 1.2
    for run in range(runs):
        texts = [words[each] for each in generator.choice(40, size=3000, p=chances / chances.sum())]
        reports = randomizer.randomize(randomizer.coded(texts, code), source=SeededSource(run))
        held = {code.bits_of(text) for text in texts}
        found += not held.issuperset(search(randomizer.model, reports.columns, alpha=alpha).codes)
    return found


def test_words_that_nobody_wrote_are_found_no_more_often_than_allowed():
    assert false_words(30, alpha=0.5) <= 15  # about 9% of runs are expected, and at most half are allowed


def test_a_threshold_that_forgets_the_candidates_finds_false_words(monkeypatch):
    def careless(num_reports, hash_range, candidates, alpha):
        del candidates
        return threshold(num_reports, hash_range, 1, alpha)

    assert false_words(8, alpha=0.5, counted=careless, monkeypatch=monkeypatch) > 6


def covering(runs, intervals):
    """Share of runs in which all intervals that are made hold the shares of the population."""
    generator, right = np.random.default_rng(4), 0
    for run in range(runs):
        found = intervals(estimated(sample(1500, generator), run), run)
        right += all(low <= dict(zip(WORDS, SHARES, strict=True))[word] <= high for word, low, high in found)
    return right / runs


def test_intervals_hold_together_as_often_as_they_say():
    def of_estimate(estimate, _):
        return [each for each in zip(estimate.target, estimate.lower, estimate.upper, strict=True) if each[0] != OTHERS]

    assert covering(50, of_estimate) >= 0.84


@pytest.mark.deep
def test_intervals_hold_together_over_many_runs():
    def of_estimate(estimate, _):
        return [each for each in zip(estimate.target, estimate.lower, estimate.upper, strict=True) if each[0] != OTHERS]

    assert covering(600, of_estimate) >= 0.93


def test_intervals_from_the_people_who_found_a_word_would_not_hold():
    model, people, share, draws = RANDOMIZER.model, 600, 0.004, 100_000
    generator = np.random.default_rng(6)
    support = share * model.p + (1 - share) * model.q
    finding, apart = (generator.binomial(people, support, size=draws) for _ in range(2))
    found = finding >= threshold(people, model.hash_range, model.hash_range, 0.025)
    assert 100 < found.sum() < draws / 50  # a word that is found by luck
    covered = {
        name: covers(counts[found], people, model, share) for name, counts in (("own", finding), ("apart", apart))
    }
    assert covered["apart"] >= 0.95
    assert covered["own"] < 0.2


def covers(counts, people, model, share):
    """How often Clopper-Pearson intervals hold a share."""
    from scipy.stats import beta

    low = np.nan_to_num(beta.ppf(0.025, counts, people - counts + 1))
    high = beta.ppf(0.975, counts + 1, people - counts)
    support = share * model.p + (1 - share) * model.q
    return np.mean((low <= support) & (support <= high))


# ---- estimates -----------------------------------------------------------------------------------------------------


def test_words_come_with_their_shares_the_most_frequent_first_and_all_others_last():
    found = estimated(sample(4000, np.random.default_rng(1)), known=("boat",))
    assert found.target[:3] == ("bus", "car", "bike")
    assert "boat" in found.target
    assert found.target[-1] == OTHERS
    assert found.estimate.sum() == pytest.approx(1)
    assert found.estimate[0] == pytest.approx(0.4, abs=5 * found.standard_error[0])
    assert (found.lower <= found.nearest).all()
    assert (found.nearest <= found.upper).all()
    assert 600 < found.num_estimating < 1000


def test_few_people_find_no_word_and_all_is_others():
    found = estimated(["bus"] * 4)
    assert found.target == (OTHERS,)
    assert (found.lower[0], found.upper[0]) == (1.0, 1.0)


def test_one_word_of_one_person_is_never_shown():
    for run in range(20):
        assert "secr" not in estimated([*["bus"] * 999, "secr"], run).target


def test_summaries_of_parts_add_up_and_of_other_models_do_not():
    reports = RANDOMIZER.randomize(RANDOMIZER.coded(["bus"] * 800, CODE), source=SeededSource(1))
    analyzer = WordAnalyzer(code=CODE)
    parts = [UniformShuffler().shuffle(reports.take(each)) for each in (slice(0, 300), slice(300, 800))]
    both = analyzer.summarize(parts[0]) + analyzer.summarize(parts[1])
    whole = analyzer.estimate(analyzer.summarize(UniformShuffler().shuffle(reports)))
    assert analyzer.estimate(both).rows() == whole.rows()
    other = MaskedPrefixes(epsilon0=5.0, num_bits=20)
    there = UniformShuffler().shuffle(other.randomize(other.coded(["bus"], CODE)))
    with pytest.raises(IncomparableError, match="summaries must be of one model"):
        _ = both + analyzer.summarize(there)


def test_other_reports_codes_and_parameters_are_refused():
    analyzer = WordAnalyzer(code=CODE)
    coin = UniformShuffler().shuffle(KaryRandomizedResponse(epsilon0=1.0, domain_size=2).randomize([0, 1]))
    with pytest.raises(UnsupportedModelError, match="words need reports by masked prefixes"):
        analyzer.summarize(coin)
    summary = analyzer.summarize(UniformShuffler().shuffle(RANDOMIZER.randomize(RANDOMIZER.coded(["bus"], CODE))))
    with pytest.raises(InvalidParameterError, match="code must be one of 20 bits"):
        WordAnalyzer(code=TextCode("letters", 5)).estimate(summary)
    with pytest.raises(InvalidParameterError, match="alpha must be"):
        WordAnalyzer(code=CODE, alpha=0)
    with pytest.raises(InvalidParameterError, match="known must be"):
        WordAnalyzer(code=CODE, known=("Bus",))


def test_fake_senders_plant_a_word_with_as_many_reports_as_the_thresholds_add_up_to():
    model = MaskedPrefixModel.from_epsilon0(epsilon0=9.14, num_bits=80, prefix_bits=14)
    assert fakes_to_plant(model, 100_000, 0.004, alpha=0.05) == sum(planned_thresholds(model, 100_000, 0.004, 0.05))
    assert 59 <= fakes_to_plant(model, 100_000, 0.004, alpha=0.05) <= 65


def test_more_people_find_words_of_smaller_shares():
    model = MaskedPrefixModel.from_epsilon0(epsilon0=6.6, num_bits=80)
    assert least_share(model, 100, alpha=0.05) is None
    found = [least_share(model, people, alpha=0.05) for people in (1000, 10_000, 100_000)]
    assert found == sorted(found, reverse=True)
