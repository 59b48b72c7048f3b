"""One false report moves an estimate as far as is stated, and no further: the attack reaches the bound."""

import json
import math
from inspect import signature
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.analyzers import BlanketAnalyzer, TickAnalyzer
from shuffledp.attacks.false_reports import false_report
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.flow import Reports
from shuffledp.protocols.shares.randomizers.counted_bits import CountedBits
from shuffledp.randomizers.subset_selection import SubsetSelectionModel
from shuffledp.testing import SeededSource

ROWS = json.loads((Path(__file__).parents[1] / "golden" / "influence.json").read_text(encoding="utf-8"))["rows"]
PEOPLE, LIARS, SIZE = 40, 3, 5
CATEGORIES = {
    "k-rr": sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=SIZE),
    "oue": sdp.OptimizedUnaryEncoding(epsilon0=1.0, domain_size=SIZE),
    "sue": sdp.SymmetricUnaryEncoding(epsilon0=1.0, domain_size=SIZE),
    "olh": sdp.OptimizedLocalHashing(epsilon0=1.0, domain_size=SIZE),
    "hadamard": sdp.HadamardResponse(epsilon0=1.0, domain_size=SIZE),
    "subset": sdp.SubsetSelection(epsilon0=1.0, domain_size=SIZE),
}
NUMBERS = {
    "laplace-mean": sdp.DiscreteLaplaceMean(epsilon0=1.0, lower=-2, upper=8),
    "one-bit-mean": sdp.OneBitMean(epsilon0=1.0, lower=-2, upper=8),
    "rounded-mean": sdp.RoundedMean(epsilon0=1.0, lower=-2, upper=8),
}


def estimated(analyzer, honest, *false):
    """Estimates from all reports together."""
    view = sdp.UniformShuffler().shuffle(Reports.concat([honest, *false]))
    return analyzer.estimate(analyzer.summarize(view)).estimate


@pytest.mark.parametrize("together", [1, 2, SIZE])
@pytest.mark.parametrize("kind", CATEGORIES)
def test_false_reports_move_shares_as_far_as_is_stated(kind, together):
    randomizer, analyzer = CATEGORIES[kind], sdp.FrequencyAnalyzer()
    model, values = randomizer.model, range(together)
    honest = randomizer.randomize(np.zeros(PEOPLE - LIARS, dtype=int))
    ups, downs = (false_report(model, upward=up, values=values, source=SeededSource(2)) for up in (True, False))
    up, down = (estimated(analyzer, honest, *[each] * LIARS)[list(values)].sum() for each in (ups, downs))
    if together == 1:
        assert up - down == pytest.approx(LIARS * model.swing / PEOPLE)
    alone = estimated(analyzer, honest)[list(values)].sum() * (PEOPLE - LIARS)
    assert up * PEOPLE - alone == pytest.approx(LIARS * model.swing_together(together))


@pytest.mark.parametrize("kind", NUMBERS)
def test_false_numbers_move_means_as_far_as_is_stated(kind):
    randomizer, analyzer = NUMBERS[kind], sdp.MeanAnalyzer()
    honest = randomizer.randomize(np.full(PEOPLE - LIARS, -2.0))
    up, down = (
        estimated(analyzer, honest, *[false_report(randomizer.model, upward=up)] * LIARS)[0] for up in (True, False)
    )
    assert up - down == pytest.approx(LIARS * randomizer.model.swing / PEOPLE)
    alone = estimated(analyzer, honest)[0] * (PEOPLE - LIARS)
    assert up * PEOPLE - alone - LIARS * -2.0 == pytest.approx(LIARS * randomizer.model.stray)


def test_false_vectors_move_means_as_far_as_is_stated():
    randomizer, analyzer = sdp.PrivUnit(epsilon0=1.0, dimension=3), sdp.MeanAnalyzer()
    honest = randomizer.randomize(np.tile([1.0, 0, 0], (PEOPLE - LIARS, 1)))
    ends = [estimated(analyzer, honest, *[false_report(randomizer.model, upward=up)] * LIARS) for up in (True, False)]
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(LIARS * randomizer.model.swing / PEOPLE)


def test_false_bits_move_a_sum_as_far_as_is_stated():
    model = CountedBits(num_users=PEOPLE, lower=-2, upper=8, value_bits=4, coins=6).model
    ones, none = (int(false_report(model, upward=up)["bit"].sum()) for up in (True, False))
    moved = [model.sum_of(each, 1) for each in (ones, none)]
    assert moved[0] - moved[1] == pytest.approx(model.swing)
    assert moved[0] + 2.0 == pytest.approx(model.stray)


def moved(analyzer, honest, *false):
    """Estimates of the first row with each of these messages of one further person, times all people."""
    people = len(honest) // honest.model.num_messages + 1
    return [estimated(analyzer, honest, each)[0] * people for each in false]


@pytest.mark.parametrize(("size", "hiding"), [(2, 1.0), (3, 2.0), (4, 0.5)])
def test_no_messages_of_a_person_under_a_blanket_move_a_share_further(size, hiding):
    randomizer = sdp.BlanketedResponse(epsilon0=2.0, domain_size=size, blanket_messages=hiding)
    model, analyzer = randomizer.model, BlanketAnalyzer()
    honest = randomizer.randomize(np.arange(11) % size)
    chosen = combinations_with_replacement(range(size + 1), model.num_messages)
    all_there_are = moved(analyzer, honest, *(Reports({"value": np.array(each)}, model) for each in chosen))
    reached = moved(analyzer, honest, *(false_report(model, upward=up) for up in (True, False)))
    assert max(all_there_are) - min(all_there_are) == pytest.approx(reached[0] - reached[1])
    assert reached[0] - reached[1] == pytest.approx(model.swing)


def test_no_messages_of_a_person_about_options_move_a_share_further():
    randomizer = sdp.TickColumns(epsilon0=1.0, num_options=3, at_most=2)
    model, analyzer = randomizer.model, TickAnalyzer()
    honest = randomizer.randomize([[True, False, True]] * 4 + [[False, True, False]] * 3)
    messages = list(product(range(3), range(2)))
    all_there_are = moved(
        analyzer,
        honest,
        *(
            Reports({"option": np.array([o for o, _ in each]), "ticked": np.array([t for _, t in each])}, model)
            for each in combinations_with_replacement(messages, model.num_messages)
        ),
    )
    up, down = moved(analyzer, honest, *(false_report(model, upward=up) for up in (True, False)))
    assert (max(all_there_are), min(all_there_are)) == pytest.approx((up, down))
    assert 0.7 * model.swing < up - down <= model.swing  # fewer reports are about an option, but for this person's


def test_sets_of_ticks_move_a_share_as_other_reports_do_and_single_options_are_not_known():
    sets = sdp.AllSets(epsilon0=1.0, num_options=3, at_most=2)
    honest = sets.randomize([[True, False, True]] * 4 + [[False, True, False]] * 3)
    false = (Reports({"value": np.array([each])}, sets.model) for each in range(7))
    found = moved(TickAnalyzer(), honest, *false)
    assert max(found) - min(found) == pytest.approx(sets.model.swing)
    assert sdp.OneOption(epsilon0=1.0, num_options=3, at_most=2).model.swing is None


def test_additive_shares_have_no_limit():
    model = sdp.SplitAndMix(num_users=100, epsilon=2.0, lower=0, upper=1, num_shares=9).model
    assert (model.swing, model.stray) == (math.inf, math.inf)
    with pytest.raises(UnsupportedModelError, match="does any harm"):
        false_report(model)


def supports_of(model, reports):
    """Sets of values that reports support, each once."""
    table = np.array([model.supports(reports.columns, value) for value in range(model.domain_size)]).T
    return {tuple(row) for row in table.tolist()}


@pytest.mark.parametrize("size", [2, 3, 4, 7])
@pytest.mark.parametrize("kind", CATEGORIES)
def test_what_reports_can_support_is_that_of_all_reports(kind, size):
    randomizer = type(CATEGORIES[kind])(epsilon0=1.0, domain_size=size)
    model = randomizer.model
    seen = supports_of(model, randomizer.randomize(np.resize(np.arange(size), 40_000), source=SeededSource(1)))
    for values in range(1, size + 1):
        assert max(sum(row[:values]) for row in seen) == model.most_supported(values)
    changed = max(sum(a != b for a, b in zip(*pair, strict=True)) for pair in combinations(seen, 2))
    assert changed == model.most_changed
    assert model.swing_of_all == pytest.approx(math.sqrt(changed) / (model.p - model.q))


def subsets(size, subset):
    return SubsetSelectionModel(domain_size=size, subset_size=subset, false_words=1)


@pytest.mark.parametrize(("subset", "size"), list(product([1, 2, 4], [5, 6])))
def test_sets_of_a_fixed_size_differ_by_what_both_need_not_hold(subset, size):
    model = subsets(size, subset)
    every = list(combinations(range(size), subset))
    assert model.most_changed == max(len(set(one) ^ set(other)) for one, other in product(every, repeat=2))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_reference_values_come_out(row):
    given, expected = row["inputs"], row["expected"]
    near = {"rel": row["tolerance"], "abs": 0}
    if row["kind"] == "hadamard-support":
        model = sdp.HadamardResponse(epsilon0=1.0, domain_size=given["k"]).model
        assert model.most_supported(given["k"]) == expected["largest"]
        assert model.most_changed == expected["largest_symmetric_difference"]
    elif row["kind"] == "subset-support":
        model = subsets(given["k"], given["d"])
        assert model.most_changed == expected
    elif "k" in given:
        model = type(CATEGORIES[given["kind"]])(epsilon0=given["epsilon0"], domain_size=given["k"]).model
        assert model.swing == pytest.approx(expected["swing"], **near)
        assert model.stray == pytest.approx(max(expected["up"], expected["down"]), **near)
        assert model.swing_of_all == pytest.approx(expected["l2_swing"], **near)
    else:
        keys = {key: given[key] for key in ("epsilon0", "lower", "upper", "num_levels") if key in given}
        model = type(NUMBERS[given["kind"]])(**keys).model
        assert model.swing == pytest.approx(expected["swing"], **near)
        assert model.stray == pytest.approx(expected["bias"], **near)


@pytest.mark.parametrize("epsilon0", [0.5, 2.0])
def test_no_unbiased_estimate_of_a_share_does_with_less(epsilon0):
    """The lower bound coth(epsilon0 / 2), which two answers and single bits reach."""
    least = 1 / math.tanh(epsilon0 / 2)
    models = [type(each)(epsilon0=epsilon0, domain_size=SIZE).model for each in CATEGORIES.values()]
    assert all(model.swing >= least * (1 - 1e-9) for model in models)
    for reached in (
        sdp.KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2),
        sdp.OneBitMean(epsilon0=epsilon0, lower=0, upper=1),
    ):
        assert reached.model.swing == pytest.approx(least)


@pytest.mark.parametrize(
    ("randomizer", "alone", "shuffled", "epsilon0"),
    [
        (sdp.KaryRandomizedResponse, 6.82, 1.041, 5.508),
        (sdp.OptimizedUnaryEncoding, 4.33, 2.007, 6.379),
        (sdp.OneBitMean, 2.16, 1.007, 5.689),
        (sdp.RoundedMean, 6.24, 1.037, 5.503),
        (sdp.DiscreteLaplaceMean, 143, 24.9, 5.940),
        (sdp.PrivUnit, 50, 9.8, 5.655),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_shuffling_makes_reports_robust(randomizer, alone, shuffled, epsilon0):
    """``epsilon0`` is what 10,000 people may have for a central (1, 1e-6), as `calibrate.epsilon0` finds it."""
    keys = {"domain_size": 10} if "domain_size" in signature(randomizer).parameters else {"lower": 0, "upper": 1}
    keys |= {"num_levels": 8} if randomizer is sdp.RoundedMean else {}
    keys = {"dimension": 100} if randomizer is sdp.PrivUnit else keys
    swings = [randomizer(epsilon0=each, **keys).model.swing for each in (1.0, epsilon0)]
    assert swings == [pytest.approx(alone, rel=5e-3), pytest.approx(shuffled, rel=5e-3)]
