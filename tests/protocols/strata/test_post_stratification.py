"""Post-stratification: what is added up of strata, by hand and over many runs."""

import math

import numpy as np
import pytest

from shuffledp.analyzers import CrossTableAnalyzer, FrequencyAnalyzer, HistogramAnalyzer, MeanAnalyzer
from shuffledp.core.errors import IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Reports, View
from shuffledp.core.table import Table
from shuffledp.protocols.shares.analyzers.sums import SumAnalyzer
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix
from shuffledp.protocols.strata.analyzers.post_stratification import StratifiedAnalyzer
from shuffledp.protocols.strata.people.strata import Strata
from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffleModel, StratifiedShuffler
from shuffledp.randomizers import KaryRandomizedResponse, OneBitMean, PrivUnit
from shuffledp.shufflers import UniformShuffler
from shuffledp.testing import SeededSource

BINARY = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
P, Q = BINARY.model.p, BINARY.model.q
TABLE = Table({"region": ["north", "south", "south"], "w": [2.0, 1.0, 4.0]})
SHUFFLE = StratifiedShuffleModel(sizes=(4, 2, 2))
WEIGHTED = StratifiedAnalyzer(analyzer=FrequencyAnalyzer(), by="region", weight="w")


def view(reports=(0, 1, 1, 1, 0, 0, 1, 0), labels=(0, 0, 0, 0, 1, 1, 2, 2), **changes):
    made = Reports({"value": np.array(reports, dtype=np.uint8)}, BINARY.model)
    return View(**({"reports": made, "labels": np.array(labels), "label_table": TABLE, "shuffle": SHUFFLE} | changes))


def estimated(analyzer, seen):
    return analyzer.estimate(analyzer.summarize(seen))


def test_shares_of_strata_are_added_up_by_their_share_of_the_weight():
    found = estimated(WEIGHTED, view())
    strata = (np.array([3 / 4, 0 / 2, 1 / 2]) - Q) / (P - Q)  # of answer 1
    everybody = (8 * strata[0] + 2 * strata[1] + 8 * strata[2]) / 18
    south = (2 * strata[1] + 8 * strata[2]) / 10
    np.testing.assert_allclose(found.estimate, [1 - everybody, everybody])
    np.testing.assert_allclose(found.regions.estimate, [1 - strata[0], strata[0], 1 - south, south])
    assert found.regions.where == (*({"region": "north"},) * 2, *({"region": "south"},) * 2)
    assert (found.statistic, found.num_reports) == ("frequency (weighted)", 8)
    assert found.regions.statistic == "frequency (weighted) by region"
    assert found.regions.names[1:3] == ("1 (region north)", "0 (region south)")
    assert found.where is None


def test_variances_are_added_up_by_the_squares_of_the_shares():
    parts = [FrequencyAnalyzer().estimate(part) for part in WEIGHTED.summarize(view()).parts]
    found = estimated(WEIGHTED, view())
    for errors in ("standard_error", "sampling_error"):
        first, second, third = (getattr(part, errors)[0] for part in parts)
        assert getattr(found, errors)[0] == pytest.approx(math.hypot(8 * first, 2 * second, 8 * third) / 18)
        assert getattr(found.regions, errors)[0] == pytest.approx(first)


def test_a_region_of_one_weight_has_the_interval_of_its_own_reports():
    found, alone = estimated(WEIGHTED, view()), FrequencyAnalyzer().estimate(WEIGHTED.summarize(view()).parts[0])
    ends = max(alone.lower[0], 0.0), min(alone.upper[0], 1.0)
    assert (found.regions.lower[0], found.regions.upper[0]) == ends


def test_without_weights_everybody_is_estimated_as_after_a_uniform_shuffle():
    seen = view()
    found = estimated(StratifiedAnalyzer(analyzer=FrequencyAnalyzer(), by="region"), seen)
    whole = estimated(FrequencyAnalyzer(), View(reports=seen.reports, shuffle=UniformShuffler().model(8)))
    assert found.everybody.rows() == whole.rows()
    assert found.statistic == "frequency"
    assert found.regions.target == ("0", "1", "0", "1")


def test_names_of_answers_are_those_of_regions_too():
    found = estimated(WEIGHTED, view()).with_targets(("No", "Yes"))
    assert (found.target, found.everybody.target, found.regions.target) == (*(("No", "Yes"),) * 2, ("No", "Yes") * 2)
    assert [row["target"] for row in found.rows()] == ["No", "Yes"] * 3
    assert "Yes (region south)" in str(found)


def test_without_regions_there_is_everybody_alone():
    found = estimated(StratifiedAnalyzer(analyzer=FrequencyAnalyzer(), weight="w"), view())
    assert (found.target, found.regions) == (("0", "1"), None)


def test_cross_tables_and_histograms_of_strata_have_rows_of_their_cells_by_region():
    answers = [["a", "b"], ["c", "d"]]
    randomizer = KaryRandomizedResponse(epsilon0=3.0, domain_size=4)
    strata = Strata.of({"region": np.arange(800) % 2, "w": 1.0 + np.arange(800) // 400}, by="region", weight="w")
    seen = StratifiedShuffler(strata).shuffle(randomizer.randomize(np.arange(800) % 4, source=SeededSource(1)))
    inner = CrossTableAnalyzer(categories=answers)
    found = estimated(StratifiedAnalyzer(analyzer=inner, by="region"), seen)
    assert found.everybody.row_shares is not None  # of one weight all that the analyzer makes of them
    assert found.regions.target == ("a, c", "a, d", "b, c", "b, d") * 2
    assert np.abs(found.regions.estimate - [0.5, 0, 0.5, 0, 0, 0.5, 0, 0.5]).max() < 0.3
    weighted = estimated(StratifiedAnalyzer(analyzer=inner, by="region", weight="w"), seen)
    assert weighted.target == ("a, c", "a, d", "b, c", "b, d")
    assert weighted.derived == (weighted.regions,)
    binned = StratifiedAnalyzer(analyzer=HistogramAnalyzer(edges=[0, 1, 2, 3, 4]), by="region")
    assert estimated(binned, seen).everybody.quantiles is not None


def test_one_bit_reports_tell_no_sampling_error_of_strata_either():
    randomizer = OneBitMean(epsilon0=1.0, lower=0, upper=1)
    strata = Strata.of({"region": ["a"] * 50 + ["b"] * 50}, by="region")
    seen = StratifiedShuffler(strata).shuffle(randomizer.randomize(np.full(100, 0.3)))
    found = estimated(StratifiedAnalyzer(analyzer=MeanAnalyzer(), by="region"), seen)
    for each in (found, found.regions):
        assert (each.sampling_error, each.interval) == (None, None)
    assert found.regions.target == ("value",) * 2


def test_means_of_vectors_are_added_up_coordinate_by_coordinate():
    randomizer = PrivUnit(epsilon0=8.0, dimension=3)
    strata = Strata.of({"w": [1.0] * 100 + [3.0] * 100}, weight="w", weight_classes=2)
    values = np.repeat(np.eye(3)[:2], 100, axis=0)
    seen = StratifiedShuffler(strata).shuffle(randomizer.randomize(values, source=SeededSource(1)))
    found = estimated(StratifiedAnalyzer(analyzer=MeanAnalyzer(), weight="w"), seen)
    assert np.abs(found.estimate - [0.25, 0.75, 0]).max() < 4 * found.standard_error.max()


def coverage(sizes, weights, shares, *, epsilon0, runs):
    """How often intervals hold the weighted share of strata of these sizes, and how far the mean estimate is off."""
    randomizer = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2)
    strata = Strata.of({"w": np.repeat(weights, sizes)}, weight="w", weight_classes=9)
    assert strata.sizes == tuple(sizes)
    answers = np.concatenate([np.arange(size) < round(size * share) for size, share in zip(sizes, shares, strict=True)])
    truth = np.average(answers, weights=np.repeat(weights, sizes))
    analyzer, source = StratifiedAnalyzer(analyzer=FrequencyAnalyzer(), weight="w"), SeededSource(5)
    found = []
    for _ in range(runs):
        reports = randomizer.randomize(answers.astype(int), source=source)
        found.append(estimated(analyzer, StratifiedShuffler(strata).shuffle(reports, source=source)))
    held = np.mean([each.lower[1] <= truth <= each.upper[1] for each in found])
    numbers = np.array([each.estimate[1] for each in found])
    return held, abs(numbers.mean() - truth) / (numbers.std() / math.sqrt(runs))


def test_intervals_of_unequal_strata_hold_the_weighted_share_as_often_as_they_say():
    held, bias = coverage((600, 300, 150), (1.0, 2.0, 6.0), (0.1, 0.5, 0.8), epsilon0=1.0, runs=340)
    assert 0.93 <= held <= 0.97
    assert bias < 3


def test_intervals_of_few_reports_with_little_noise_hold_the_weighted_share_at_least_as_often():
    held, bias = coverage((40, 20), (1.0, 5.0), (0.0, 0.1), epsilon0=3.0, runs=120)
    assert held >= 0.93
    assert bias < 3


def test_a_summary_of_part_of_the_reports_has_no_estimate():
    first, *_ = view().parts(5)
    with pytest.raises(InvalidParameterError, match="num_reports must be of all 8 reports, stratum by stratum; got"):
        WEIGHTED.estimate(WEIGHTED.summarize(first))


def test_reports_that_are_in_other_strata_than_the_description_says_have_no_estimate():
    with pytest.raises(InvalidParameterError, match="num_reports must be of all 8 reports, stratum by stratum"):
        estimated(WEIGHTED, view(labels=(0, 0, 0, 1, 1, 1, 2, 2)))


def test_summaries_of_other_strata_are_not_added():
    other = view(label_table=Table({"region": ["north", "south", "south"], "w": [2.0, 1.0, 5.0]}))
    with pytest.raises(IncomparableError, match="must be of one model and of the same strata"):
        WEIGHTED.summarize(view()) + WEIGHTED.summarize(other)
    foreign = Reports({"value": np.zeros(8, dtype=np.uint8)}, KaryRandomizedResponse(epsilon0=2, domain_size=2).model)
    of_another = View(reports=foreign, labels=view().labels, label_table=TABLE, shuffle=SHUFFLE)
    with pytest.raises(IncomparableError, match="must be of one model"):
        WEIGHTED.summarize(view()) + WEIGHTED.summarize(of_another)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label_table": Table({"w": [2.0, 1.0, 4.0]})}, "the label table must have the column 'region'"),
        ({"label_table": None}, "the label table must have the column 'region'"),
        (
            {"label_table": Table({"region": ["a", "b", "b"], "w": [1.0, -1, 2]})},
            "the weights of strata must be finite",
        ),
    ],
)
def test_label_tables_without_the_columns_are_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        WEIGHTED.summarize(view(**changes))


def test_other_shuffles_and_other_analyzers_are_refused():
    with pytest.raises(UnsupportedModelError, match="need labels that are strata; got 'k-rr' reports in a 'uniform'"):
        WEIGHTED.summarize(UniformShuffler().shuffle(view().reports))
    with pytest.raises(InvalidParameterError, match="analyzer must be a Analyzer"):
        StratifiedAnalyzer(analyzer="frequency", by="region")
    shares = SplitAndMix(num_users=8, epsilon=1.0, lower=0, upper=1, num_shares=3, modulus=999)
    seen = View(
        reports=shares.randomize(np.zeros(8)), labels=np.repeat(view().labels, 3), label_table=TABLE, shuffle=SHUFFLE
    )
    with pytest.raises(UnsupportedModelError, match="estimates are of frequencies and means; got 'split-and-mix'"):
        StratifiedAnalyzer(analyzer=SumAnalyzer(), by="region").summarize(seen)
