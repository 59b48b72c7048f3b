"""Differences cover as often as they say, alone and together, with the covariances that hold and no others."""

import json
from pathlib import Path

import numpy as np
import pytest

from shuffledp import KaryRandomizedResponse
from shuffledp.analyzers import (
    About,
    FrequencyAnalyzer,
    FrequencySummary,
    TickAnalyzer,
    TickSummary,
    between,
    compared,
    within,
)
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.estimates import Estimate, normal_half_width
from shuffledp.randomizers import (
    HadamardResponse,
    OneOption,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    SubsetSelection,
    TickColumns,
)
from shuffledp.shufflers import UniformShuffler

ROWS = json.loads((Path(__file__).parents[1] / "golden" / "differences.json").read_text(encoding="utf-8"))["rows"]
RNG = np.random.default_rng


def golden(kind: str) -> list[dict]:
    found = [each for each in ROWS if each["kind"] == kind]
    assert found
    return found


def krr(epsilon0: float, size: int = 2):
    return KaryRandomizedResponse(epsilon0=epsilon0, domain_size=size).model


def estimate_of(counts, model, *, level: float = 0.95):
    """Estimate from counts of supporting reports."""
    total = int(np.sum(counts))
    return FrequencyAnalyzer(level=level).estimate(
        FrequencySummary(model=model, counts=np.asarray(counts, dtype=np.int64), num_reports=total)
    )


def surveys(runs: int, people: int, shares, model, rng):
    """Counts of reports of samples of a population, shape (runs, values), with the counts of true answers."""
    true = rng.multinomial(people, shares, size=runs)
    law = np.full((len(shares), len(shares)), model.q) + np.eye(len(shares)) * (model.p - model.q)
    counts = np.stack(
        [np.array([rng.multinomial(n, each) for n, each in zip(row, law, strict=True)]).sum(axis=0) for row in true]
    )
    return counts, true


def covered(found, truth) -> np.ndarray:
    return (found.lower <= truth + 1e-12) & (truth - 1e-12 <= found.upper)


def share_covered(contrasts, truths) -> float:
    """Share of the runs in which all intervals of a contrast hold."""
    runs = [
        covered(compared([one], level=0.95)[0][0], truth).all() for one, truth in zip(contrasts, truths, strict=True)
    ]
    return float(np.mean(runs))


def regions_covered(people: int, epsilon0: float, shares, runs: int, *, seed: int = 1):
    """How often the difference of two regions is covered, and half the mean length."""
    model, rng = krr(epsilon0), RNG(seed)
    sides = [surveys(runs, people, (1 - each, each), model, rng)[0] for each in shares]
    found = [
        compared([between(estimate_of(one, model), estimate_of(other, model))], level=0.95)[0][0]
        for one, other in zip(*sides, strict=True)
    ]
    hit = np.mean([covered(each, shares[0] - shares[1])[0] for each in found])
    return float(hit), float(np.mean([each.margin[0] for each in found]))


# ---- known values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden("option-difference"), ids=lambda row: row["name"])
def test_the_difference_of_two_options_has_the_errors_of_both_with_their_covariance(row):
    """Mutant: the covariance of sampling left out of the one for a population."""
    counts, options = row["inputs"]["counts_of_reports"], map(str, row["inputs"]["options"])
    found = estimate_of(counts, krr(row["inputs"]["epsilon0"], len(counts))).difference(*options)
    expected = row["expected"]
    assert found.estimate[0] == pytest.approx(expected["difference"], abs=1e-8)
    assert found.standard_error[0] == pytest.approx(expected["standard_error_batch"], abs=1e-8)
    assert found.population_error[0] == pytest.approx(expected["standard_error_population"], abs=1e-8)
    assert found.about is About.POPULATION


def test_intervals_of_all_pairs_are_those_of_the_largest_error():
    """Of equal shares that is the studentized range. Mutant: the quantile of independent errors."""
    row = golden("tests-pairs")[0]["expected"]
    found = estimate_of([250] * 4, krr(1.0, 4)).difference()
    assert found.num_comparisons == 6
    assert str(found).endswith("all 6 comparisons together)")
    assert found.margin / found.population_error == pytest.approx(np.full(6, row["z_max_t"]), rel=3e-3)
    assert found.margin[0] / found.population_error[0] == pytest.approx(3.6332 / np.sqrt(2), rel=1e-3)


def test_errors_of_differences_together_have_the_variances_of_each():
    """Mutants: the covariance of two options left out; both releases taken for one."""
    three, other = estimate_of([500, 200, 100], krr(1.0, 3)), estimate_of([300, 300, 200], krr(2.0, 3))
    for contrast in (within(three), between(three, other), between(three, other, same_people=True)):
        asked, drawn = contrast.variances()
        together = contrast.joint(np.arange(3))
        assert np.diag(together) == pytest.approx(asked if drawn is None else asked + drawn)
        assert together[0, 1] != 0 or contrast.first is not contrast.second
    assert within(three).joint(np.array([0, 2])) == pytest.approx(within(three).joint(np.arange(3))[::2, ::2])


def test_intervals_of_errors_that_are_not_known_together_are_those_of_bonferroni():
    """Mutant: the largest error of what is taken to be independent."""
    counts = np.array([400, 300, 200, 100])
    known = estimate_of(counts, krr(1.0, 4))
    unknown = FrequencyAnalyzer().estimate(
        FrequencySummary(
            model=OptimizedLocalHashing(epsilon0=1.0, domain_size=4).model, counts=counts, num_reports=1000
        )
    )
    assert not unknown.knows_pairs(np.arange(4), population=True)
    expected = golden("tests-pairs")[0]["expected"]["z_bonferroni"]
    pairs = unknown.difference()
    assert pairs.margin / pairs.standard_error == pytest.approx(np.full(6, expected), rel=1e-6)
    own, others = compared([within(known), within(unknown)], level=0.95)[0]
    # Half of the chance of a miss for each of the two; the quantiles of six and of twelve errors.
    assert others.margin / others.standard_error == pytest.approx(np.full(6, 2.8652), rel=1e-4)
    assert 2.73 < own.margin[0] / own.population_error[0] < 2.84


@pytest.mark.parametrize("row", golden("tests-weeks"), ids=lambda row: row["name"])
def test_two_weeks_of_the_same_people_have_the_error_of_randomizing_alone(row):
    """Mutant: what sampling adds counted too, which those asked do not have."""
    people = row["inputs"]["n"]
    model = krr(row["inputs"]["epsilon0"])
    counts = [int(0.6 * people), people - int(0.6 * people)]
    weeks = estimate_of(counts, model), estimate_of(counts[::-1], model)
    same = weeks[0].difference(other=weeks[1], same_people=True)
    others = weeks[0].difference(other=weeks[1])
    assert same.margin[0] == pytest.approx(row["expected"]["half_batch"], rel=1e-6)
    assert others.margin[0] > same.margin[0]
    assert (same.about, others.about) == (About.ASKED, About.POPULATION)


@pytest.mark.parametrize("make", [HadamardResponse, OptimizedUnaryEncoding, SubsetSelection])
def test_other_randomizers_have_the_variance_of_their_reports(make):
    """The variance of two counts' difference, against the reports themselves; where unknown, the largest possible."""
    model = make(epsilon0=1.5, domain_size=6).model
    people = np.repeat(np.arange(6), [600, 500, 400, 300, 150, 50])
    analyzer = FrequencyAnalyzer()
    apart, found = [], None
    for _ in range(120):
        found = analyzer.estimate(
            analyzer.summarize(UniformShuffler().shuffle(make.from_model(model).randomize(people)))
        )
        apart.append(found.estimate[0] - found.estimate[1])
    stated = found.difference("0", "1").standard_error[0]
    assert stated > 0.8 * np.std(apart)
    assert make is HadamardResponse or stated < 1.3 * np.std(apart)


def test_ticks_of_columns_err_independently_and_those_about_one_option_are_of_other_people():
    ticks = np.random.default_rng(1).random((4000, 3)) < [0.5, 0.3, 0.1]
    analyzer = TickAnalyzer()
    for randomizer, about in ((TickColumns, About.ASKED), (OneOption, About.POPULATION)):
        reports = randomizer(epsilon0=3.0, num_options=3, at_most=3).randomize(ticks)
        estimate = analyzer.estimate(analyzer.summarize(UniformShuffler().shuffle(reports)))
        found = estimate.difference("0", "2")
        assert found.about is about
        error = found.standard_error if about is About.ASKED else found.population_error
        mine = estimate.standard_error if about is About.ASKED else estimate.population_error
        assert error[0] == pytest.approx(np.hypot(mine[0], mine[2]))
        # Of other people about each option, answers that go together make the difference among those asked err more.
        asked = np.hypot(estimate.standard_error[0], estimate.standard_error[2])
        assert (found.standard_error[0] > 1.001 * asked) == (about is About.POPULATION)


# ---- what is compared ------------------------------------------------------------------------------------------------


def places(*rows: tuple[str, float]) -> Estimate:
    return Estimate(
        statistic="frequency by region",
        target=("Yes",) * len(rows),
        estimate=np.array([share for _, share in rows]),
        standard_error=np.full(len(rows), 0.02),
        where=tuple({"region": name} for name, _ in rows),
        num_reports=900,
    )


def test_regions_are_compared_for_each_target_and_err_most_where_it_is_not_known_how():
    found = places(("north", 0.4), ("south", 0.3)).difference()
    assert found.target == ("Yes: north - south",)
    assert found.about is About.ASKED
    assert found.margin[0] == pytest.approx(2 * 0.02 * normal_half_width(0.95))


def test_a_question_of_two_answers_is_compared_once_and_others_by_every_answer():
    two, three = (estimate_of(counts, krr(1.0, len(counts))) for counts in ([300, 200], [300, 200, 100]))
    assert two.difference(other=two).target == ("1",)
    assert two.difference().target == ("0 - 1",)
    assert three.difference(other=three).num_comparisons == 3
    assert three.difference("2", other=three).num_comparisons == 1


def test_all_contrasts_count_together():
    """Mutant: each contrast counted by itself."""
    three = estimate_of([300, 200, 100], krr(1.0, 3))
    alone = compared([within(three)], level=0.95)[0][0]
    both, _ = compared([within(three), between(three, three)], level=0.95)
    assert [each.num_comparisons for each in both] == [6, 6]
    assert (both[0].margin > alone.margin).all()


def test_holms_decisions_tell_more_apart_than_the_intervals_and_none_that_is_equal():
    """Mutant: decisions by the intervals alone."""
    model, z = krr(2.0, 3), []
    clear = estimate_of([6000, 2000, 1900], model)
    found = compared([within(clear)], level=0.95)[0][0]
    assert found.differs == (True, True, False)
    for count in range(2000, 2600, 25):
        found = compared([within(estimate_of([6000, count, 2000], model))], level=0.95)[0][0]
        z.append((found.differs[2], bool(found.lower[2] > 0)))
    assert (True, False) in z
    assert (False, True) not in z


def test_what_cannot_be_compared_is_refused():
    two = estimate_of([300, 200], krr(1.0))
    mean = Estimate(statistic="mean", target=("1",), estimate=np.ones(1), standard_error=np.ones(1), num_reports=5)
    for call in (
        lambda: two.difference("0"),
        lambda: two.difference("0", "7"),
        lambda: two.difference(other=mean),
        lambda: two.difference(same_people=True),
        lambda: two.difference("0", other=estimate_of([1, 2], krr(1.0)).with_targets(("a", "b"))),
        lambda: estimate_of(np.ones(60), krr(1.0, 60)).difference(),
    ):
        with pytest.raises(InvalidParameterError, match="must be"):
            call()


# ---- coverage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("people", "epsilon0", "shares"), [(60, 1.0, (0.03, 0.1)), (20, 6.0, (0.01, 0.05))])
def test_the_difference_of_two_regions_is_covered(people, epsilon0, shares):
    """Mutant: normal intervals where reports are few, which cover .72 at epsilon0 = 6."""
    hit, _ = regions_covered(people, epsilon0, shares, 300)
    assert hit > 0.9


def of_unequal_sizes(epsilon0: float, shares, runs: int) -> float:
    """How often the difference of 30 people and of 300 is covered."""
    model, rng = krr(epsilon0), RNG(1)
    few, many = (
        surveys(runs, people, (1 - share, share), model, rng)[0]
        for people, share in zip((30, 300), shares, strict=True)
    )
    contrasts = [
        between(estimate_of(one, model), estimate_of(other, model)) for one, other in zip(few, many, strict=True)
    ]
    return share_covered(contrasts, [shares[0] - shares[1]] * runs)


def test_the_difference_of_few_people_and_of_many_is_covered():
    """Mutants: the estimate of many people taken below 0 beside that of few; reaches to 0 as if they were errors."""
    assert of_unequal_sizes(1.0, (0.0, 0.0), 100) > 0.93  # .86 with the first
    assert of_unequal_sizes(1.0, (0.03, 0.1), 200) > 0.93  # .91 with the second


@pytest.mark.deep
@pytest.mark.parametrize("epsilon0", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("shares", [(0.0, 0.0), (0.03, 0.1), (0.1, 0.03), (0.3, 0.3), (0.5, 0.4), (0.98, 0.9)])
def test_the_difference_of_few_people_and_of_many_is_covered_at_other_losses(epsilon0, shares):
    assert of_unequal_sizes(epsilon0, shares, 2000) > 0.935


def test_all_pairs_of_four_options_are_covered_together_and_not_as_if_they_were_independent():
    """Mutant: the covariance left out covers about .80 of the time, single intervals together less."""
    model, shares = krr(1.0, 4), np.array([0.4, 0.3, 0.2, 0.1])
    counts, _ = surveys(120, 400, shares, model, RNG(3))
    truth = np.array([shares[one] - shares[two] for one in range(4) for two in range(one + 1, 4)])
    assert 0.92 < share_covered([within(estimate_of(each, model)) for each in counts], [truth] * 120) < 0.999


@pytest.mark.deep
@pytest.mark.parametrize("row", golden("tests-regions"), ids=lambda row: row["name"])
def test_two_regions_are_covered_as_often_as_known(row):
    given, expected = row["inputs"], row["expected"]
    hit, half = regions_covered(given["n"], given["epsilon0"], given["f"], 6000)
    assert min(expected["normal"], 0.95) - 0.01 < hit < 0.97
    assert expected["mean_half"] * 0.99 < half < expected["mean_half"] * 1.06


@pytest.mark.deep
@pytest.mark.parametrize("people", [12, 30, 60, 150, 300])
@pytest.mark.parametrize("epsilon0", [1.0, 3.0, 6.0])
@pytest.mark.parametrize("shares", [(0.0, 0.0), (0.03, 0.1), (0.5, 0.4), (0.98, 0.9)])
def test_few_people_are_covered(people, epsilon0, shares):
    hit, _ = regions_covered(people, epsilon0, shares, 3000)
    assert hit > 0.93


@pytest.mark.deep
@pytest.mark.parametrize("row", golden("tests-options"), ids=lambda row: row["name"])
def test_two_options_are_covered_for_the_population(row):
    people, shares = row["inputs"]["n"], np.array([0.4, 0.3, 0.2, 0.1])
    model = krr(row["inputs"]["epsilon0"], 4)
    counts, _ = surveys(6000, people, shares, model, RNG(5))
    contrasts = [within(estimate_of(each, model), ("0", "1")) for each in counts]
    assert 0.94 < share_covered(contrasts, [shares[0] - shares[1]] * 6000) < 0.96


@pytest.mark.deep
@pytest.mark.parametrize("row", golden("tests-pairs"), ids=lambda row: row["name"])
def test_families_are_covered_together_and_falsely_told_apart_as_rarely(row):
    model, shares = krr(row["inputs"]["epsilon0"], 4), np.full(4, 0.25)
    counts, _ = surveys(6000, row["inputs"]["n"], shares, model, RNG(7))
    contrasts = [within(estimate_of(each, model)) for each in counts]
    assert share_covered(contrasts, [np.zeros(6)] * 6000) == pytest.approx(row["expected"]["max_t"], abs=0.01)
    wrong = np.mean([any(compared([each], level=0.95)[0][0].differs) for each in contrasts])
    assert 0.03 < wrong < 0.05 + 0.006


@pytest.mark.deep
def test_contrasts_of_several_questions_hold_together_and_nothing_equal_is_told_apart():
    """Two questions, one of which has a true difference. Mutant: the share of a question that is not decided yet."""
    model, rng, runs = krr(1.0, 4), RNG(17), 3000
    equal, _ = surveys(runs, 2000, np.full(4, 0.25), model, rng)
    other, _ = surveys(runs, 2000, np.array([0.55, 0.15, 0.15, 0.15]), model, rng)
    truth = np.repeat([0.4, 0.0], 3)
    wrong, missed = 0, 0
    for first, second in zip(equal, other, strict=True):
        contrasts = [within(estimate_of(each, model)) for each in (first, second)]
        one, two = compared(contrasts, level=0.95)[0]
        wrong += any(one.differs) or any(two.differs[3:])
        missed += not (covered(one, np.zeros(6)).all() and covered(two, truth).all())
    assert missed / runs < 0.05 + 0.008
    assert wrong / runs < 0.05 + 0.008


@pytest.mark.deep
@pytest.mark.parametrize("row", golden("tests-weeks"), ids=lambda row: row["name"])
def test_the_same_people_are_covered_in_two_weeks(row):
    people, model, rng = row["inputs"]["n"], krr(row["inputs"]["epsilon0"]), RNG(9)
    hits = []
    for _ in range(6000):
        first = rng.random(people) < 0.3
        second = first ^ (rng.random(people) < row["inputs"]["changed"])
        weeks = [
            estimate_of([people - count, count], model)
            for each in (first, second)
            for count in [int((each ^ (rng.random(people) < model.q)).sum())]
        ]
        found = weeks[0].difference(other=weeks[1], same_people=True)
        hits.append(covered(found, first.mean() - second.mean())[0])
    assert np.mean(hits) == pytest.approx(0.95, abs=0.012)


@pytest.mark.parametrize(("people", "epsilon0", "shares"), [(60, 4.0, (0.01, 0.03)), (300, 6.0, (0.002, 0.008))])
def test_differences_of_rare_ticks_between_two_releases_are_covered(people, epsilon0, shares):
    """Mutant: the interval about the people asked and an error of sampling, which is 0 at an estimate of 0."""
    model, random, contrasts = TickColumns(epsilon0=epsilon0, num_options=1, at_most=1).model, RNG(9), []
    for _ in range(300):
        found = []
        for share in shares:
            ticks = random.binomial(people, share)
            support = random.binomial(ticks, model.p) + random.binomial(people - ticks, model.q)
            counted = {"support": np.array([support]), "about": np.array([people])}
            found.append(TickAnalyzer().estimate(TickSummary(model=model, sets=None, num_reports=people, **counted)))
        contrasts.append(between(*found))
    assert share_covered(contrasts, [shares[0] - shares[1]] * 300) > 0.93
