"""Sums of vectors: rounding with a sure length, noise, what is refused, calibration, blocks, and the task."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.accounting.numerics import smallest_below
from shuffledp.core.errors import BatchTooSmallError, HypothesisError, InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.local_models import ProtocolModel
from shuffledp.planning import calibrate
from shuffledp.protocols.shares.randomizers.discrete_gaussian import _thresholds, discrete_gaussian, sampler_error
from shuffledp.protocols.shares.randomizers.vector_rounding import largest_square, rounded_in_pairs, scale_of
from shuffledp.protocols.shares.randomizers.vector_sum import VectorSum, VectorSumModel
from shuffledp.protocols.shares.theorems.gaussian_shares import (
    VectorSums,
    gaussian_curve,
    gaussian_parameter,
    not_gaussian,
)
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.survey import Task, plan
from shuffledp.testing import SeededSource

REFERENCE = json.loads((Path(__file__).parents[2] / "golden" / "vector_sums.json").read_text(encoding="utf-8"))["rows"]
USUAL = {"num_users": 2000, "epsilon": 1.0, "delta": 1e-6, "largest_norm": 2.0, "dimension": 5}
MODEL = calibrate.vector_sum(**USUAL).model


def rows(kind):
    return [pytest.param(row["inputs"], row["expected"], id=row["id"]) for row in REFERENCE if row["kind"] == kind]


def directions(count, dimension, length):
    vectors = np.random.default_rng(5).normal(size=(count, dimension))
    return vectors * (length / np.linalg.norm(vectors, axis=1))[:, np.newaxis]


# ---- rounding -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "vector", [(0.3, 0.4), (1.5, -0.25, 0.75), (2.2, -1.9, 0.0, 0.6, -0.6), (0.5,) * 6, (1.0, 2.0)]
)
def test_a_rounded_vector_is_right_on_average_and_never_longer_than_its_bound(vector):
    runs, exact = 40_000, np.array(vector)
    bound = math.floor(largest_square(float(np.linalg.norm(exact)), len(vector)))
    found = rounded_in_pairs(np.tile(exact, (runs, 1)), square=bound, source=SeededSource(2))
    assert (np.abs(found - exact) < 1).all()
    assert np.abs(found.mean(axis=0) - exact).max() < 5 * 0.5 / math.sqrt(runs)
    whole = np.floor(np.abs(exact))
    kept = (whole**2 + (2 * whole + 1) * (np.abs(exact) - whole)).sum()
    lengths = (found**2).sum(axis=1)
    assert lengths.max() <= kept + (2 * whole + 1).max()
    assert lengths.max() <= bound


def test_what_is_moved_from_one_coordinate_to_another_leaves_the_weighted_sum():
    vectors = directions(500, 40, 9.0)
    whole = np.floor(np.abs(vectors))
    kept = (whole**2 + (2 * whole + 1) * (np.abs(vectors) - whole)).sum(axis=1)
    lengths = (rounded_in_pairs(vectors, square=10**6, source=SeededSource(3)) ** 2).sum(axis=1)
    assert (np.abs(lengths - kept) <= (2 * whole + 1).max(axis=1)).all()  # independent coins would differ by far more
    apart = np.random.default_rng(1).random(vectors.shape) < np.abs(vectors) - whole
    assert (np.abs(((whole + apart) ** 2).sum(axis=1) - kept) > (2 * whole + 1).max(axis=1)).mean() > 0.1


def test_a_vector_that_floats_made_too_long_is_rounded_toward_zero_and_at_worst_is_nothing():
    vectors = np.array([[1.9, 1.9], [3.9, 0.0]])
    assert rounded_in_pairs(vectors, square=2, source=SeededSource(1)).tolist() == [[1, 1], [0, 0]]


def test_the_scale_is_the_inverse_of_the_bound():
    assert largest_square(scale_of(22184, 1000), 1000) == pytest.approx(22184)


# ---- noise ----------------------------------------------------------------------------------------------------------


def test_thresholds_are_the_distribution_function_to_128_places():
    first, second = _thresholds(16.0)
    weights = [math.exp(-(k**2) / 32) for k in range(-60, 61)]
    found = [Fraction((int(high) << 64) + int(low), 2**128) for high, low in zip(first, second, strict=True)]
    assert len(found) == 120
    assert found == sorted(found)
    for place in (40, 59, 60, 75):
        assert float(found[place]) == pytest.approx(sum(weights[: place + 1]) / sum(weights), rel=1e-13)
    assert sampler_error(16.0) < 2.0**-120 + 2 * math.exp(-112)


def test_a_number_whose_first_word_is_that_of_a_threshold_is_settled_by_a_second_word():
    first, second = _thresholds(16.0)

    class Words:
        reproducible = True

        def __init__(self, *given):
            self.given = list(given)

        def words(self, count):
            return np.array([self.given.pop(0) for _ in range(count)], dtype=np.uint64)

        def fill(self, out):
            out[:] = self.words(len(out))

    import shuffledp.protocols.shares.randomizers.discrete_gaussian as module

    place = 60
    for further, wanted in ((int(second[place]) - 1, place), (int(second[place]), place + 1)):
        source = Words(int(first[place]), further)
        words = source.words(1)
        assert module._settled(int(words[0]), first, second, source) == wanted


@pytest.mark.parametrize("variance", [0.5, 5000.0, math.nan, -1.0])
def test_other_variances_are_refused(variance):
    with pytest.raises(InvalidParameterError, match="variance must be"):
        discrete_gaussian(variance, 1)


# ---- the randomizer -------------------------------------------------------------------------------------------------


def test_shares_of_a_person_add_up_to_the_rounded_vector_and_noise():
    vectors = directions(400, 5, 2.0)
    randomizer = VectorSum(MODEL)
    reports = randomizer.randomize(vectors, source=SeededSource(4))
    assert reports["round"][: MODEL.num_messages].tolist() == list(range(MODEL.num_messages))
    sums = reports["residue"].reshape(400, 5, MODEL.num_shares).astype(np.int64).sum(axis=2)
    decoded = (sums + MODEL.modulus // 2) % MODEL.modulus
    steps = decoded - MODEL.modulus // 2 - vectors / MODEL.step
    assert abs(steps.mean()) < 5 * 4 / math.sqrt(2000)
    assert steps.var() == pytest.approx(16, rel=0.2)


@pytest.mark.parametrize("block", [1, 2, 3, 5])
def test_the_sum_is_that_of_the_vectors_whatever_the_blocks(block):
    vectors = directions(300, 5, 1.7)
    randomizer = calibrate.vector_sum(**USUAL, block=block)
    analyzer, shuffler = sdp.SumAnalyzer(), sdp.ParallelShuffler(sdp.UniformShuffler(), randomizer.num_messages)
    view = shuffler.shuffle(randomizer.randomize(vectors))
    parts = [analyzer.summarize(part) for part in view.parts(1000)]
    whole = analyzer.summarize(view)
    assert sum(parts[1:], start=parts[0]).residues == whole.residues
    found = analyzer.estimate(whole)
    assert np.abs(found.estimate - vectors.sum(axis=0)).max() < 6 * found.standard_error[0]
    assert found.standard_error[0] == pytest.approx(math.sqrt(randomizer.model.sum_variance(300)))
    assert found.target == ("0", "1", "2", "3", "4")


def test_intervals_of_coordinates_end_at_the_largest_norm_of_all_who_came():
    randomizer = calibrate.vector_sum(**USUAL)
    norm = randomizer.model.largest_norm
    reports = randomizer.randomize(np.repeat([[norm, 0, 0, 0, 0]], 300, axis=0), source=SeededSource(5))
    for statistic, most in (("sum", 300 * norm), ("mean", norm)):
        analyzer = sdp.SumAnalyzer(statistic=statistic)
        view = sdp.ParallelShuffler(sdp.UniformShuffler(), randomizer.num_messages).shuffle(reports)
        found = analyzer.estimate(analyzer.summarize(view))
        assert found.possible == (-most, most)
        assert found.upper[0] == most
        assert found.lower[0] < most


def test_a_share_that_is_lost_is_noticed():
    reports = VectorSum(MODEL).randomize(directions(3, 5, 1.0))
    analyzer = sdp.SumAnalyzer()
    view = sdp.IdentityShuffler().shuffle(reports)
    part = next(iter(view.parts(len(view) - 1)))
    with pytest.raises(InvalidParameterError, match="equally many in every round"):
        analyzer.estimate(analyzer.summarize(part))


def test_vectors_that_are_too_long_are_refused_or_shortened():
    with pytest.raises(InvalidParameterError, match=r"length of at most 2; 1 are not, first values\[1\]"):
        VectorSum(MODEL).randomize([[0.0] * 5, [1.0] * 5])
    with pytest.raises(InvalidParameterError, match="values"):
        VectorSum(MODEL).randomize([[0.0] * 4])
    for wrong in (math.nan, math.inf):
        with pytest.raises(InvalidParameterError, match="finite"):
            VectorSum(MODEL, clip=True).randomize([[wrong, 0, 0, 0, 0]])
    with pytest.raises(InvalidParameterError, match="at most num_users=2000; got 2001"):
        VectorSum(MODEL).randomize(np.zeros((2001, 5)))
    randomizer = VectorSum(MODEL, clip=True)
    sums = (
        randomizer.randomize([[1e200, 0, 0, 0, 1e200]] * 500)["residue"]
        .reshape(500, 5, -1)
        .astype(np.int64)
        .sum(axis=2)
    )
    steps = ((sums + MODEL.modulus // 2) % MODEL.modulus - MODEL.modulus // 2).mean(axis=0) * MODEL.step
    assert steps == pytest.approx([math.sqrt(2), 0, 0, 0, math.sqrt(2)], abs=6 * 4 * MODEL.step / math.sqrt(500))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"modulus": MODEL.modulus // 4}, "no sum wraps around"),
        ({"largest_square": 5}, "or rounding hides it"),
        ({"share_variance": 0.5}, "share_variance must be"),
        ({"noise_users": 2001}, "noise_users must be at most 2000"),
        ({"dimension": 1}, "dimension must be"),
        ({"num_shares": 1}, "num_shares must be"),
        ({"largest_norm": 0.0}, "largest_norm must be"),
        ({"releases": 0}, "releases must be"),
        ({"block": 0}, "block must be"),
    ],
)
def test_a_model_that_cannot_be_is_refused(changes, words):
    with pytest.raises(InvalidParameterError, match=words):
        VectorSumModel(**{**{name: getattr(MODEL, name) for name in MODEL.to_dict() if name != "kind"}, **changes})


def test_reports_that_cannot_be_are_refused():
    wide = replace(MODEL, block=2)
    for columns, model, words in [
        ({"residue": np.array([MODEL.modulus]), "round": np.array([0])}, MODEL, "residue must be in range"),
        ({"residue": np.array([0]), "round": np.array([MODEL.num_messages])}, MODEL, "round must be in range"),
        ({"round": np.array([0]), "residue": np.array([0])}, MODEL, "columns must be"),
        ({"residue": np.array([0]), "round": np.array([0])}, wide, "columns must be"),
        ({"residue": np.array([[0, 0, 0]]), "round": np.array([0])}, wide, "must have block=2"),
    ]:
        with pytest.raises(InvalidParameterError, match=words):
            Reports(columns, model)


@pytest.mark.parametrize("norm", [1e-100, 1e100])
def test_lengths_are_bounded_in_the_smallest_and_largest_units(norm):
    """Where squares left the floats, a long vector passed as a short one, and lengths were not bounded at all."""
    randomizer = calibrate.vector_sum(**{**USUAL, "largest_norm": norm})
    vectors = np.zeros((2000, 5))
    vectors[:, 1] = norm
    view, analyzer = sdp.UniformShuffler().shuffle(randomizer.randomize(vectors)), sdp.protocols.shares.SumAnalyzer()
    found = analyzer.estimate(analyzer.summarize(view))
    assert (np.abs(found.estimate / norm - [0, 2000, 0, 0, 0]) < 6 * found.standard_error / norm).all()
    with pytest.raises(InvalidParameterError, match="length of at most"):
        randomizer.randomize([[norm * 1.1, 0, 0, 0, 0]])


# ---- calibration ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "expected"), rows("gaussian-sd"))
def test_the_gaussian_parameter_is_exact(given, expected):
    assert 1 / gaussian_parameter(given["epsilon"], given["delta"]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("given", "expected"), rows("composed"))
def test_releases_lose_what_the_gaussian_curve_says(given, expected):
    mu = math.sqrt(given["releases"]) * given["mu"]
    assert smallest_below(lambda e: gaussian_curve(mu, e), level=given["delta"], limit=99.0) == pytest.approx(expected)


@pytest.mark.parametrize(("given", "expected"), rows("vectors"))
def test_reference_grids(given, expected):
    people, each = given["n"], given["variance_of_one"]
    settings = {"epsilon": given["epsilon"], "largest_norm": given["clip"], "dimension": given["dimension"]}
    model = calibrate.vector_sum(
        num_users=people, delta=given["delta_noise"] / 0.9, share_variance=each, **settings
    ).model
    assert model.largest_square == expected["largest_squared_norm"]
    assert model.scale == pytest.approx(expected["scale"], rel=1e-9)
    assert math.sqrt(model.sum_variance(people)) == pytest.approx(expected["sd_per_coordinate"], rel=1e-9)
    assert not_gaussian(people, each, given["dimension"]) == pytest.approx(expected["tau"], rel=1e-6)


LARGE = {"num_users": 100_000, "epsilon": 1.0, "delta": 1e-6, "largest_norm": 1.0, "dimension": 1000}


def test_a_thousand_coordinates_of_a_hundred_thousand_people_take_eight_packets():
    model = calibrate.vector_sum(**LARGE).model
    assert (model.num_shares, model.largest_square, model.modulus) == (8, 22184, 2**25)
    assert math.sqrt(model.sum_variance(100_000)) == pytest.approx(8.67, abs=0.005)
    assert model.sent_bytes == (25_000, 537_000)


@pytest.mark.deep
@pytest.mark.parametrize(("given", "expected"), rows("blocks"))
def test_blocks_take_fewer_and_longer_messages(given, expected):
    model = calibrate.vector_sum(**LARGE, block=given["block"]).model
    assert (model.num_shares, model.num_messages) == (expected["messages_per_block"], expected["messages"])
    assert model.sent_bytes[1] == {2: 316_125, 10: 200_025}[given["block"]]


@pytest.mark.deep
def test_a_hundred_releases_lose_what_one_curve_says_with_eleven_packets():
    model = calibrate.vector_sum(**{**LARGE, "epsilon": 13.4736}, releases=100).model
    assert (model.num_shares, model.largest_square) == (11, 22184)
    together = calibrate.vector_sum(**LARGE, releases=100).model
    assert math.sqrt(together.sum_variance(100_000)) == pytest.approx(10 * 8.67, rel=0.05)
    assert together.num_shares == 9


def test_a_message_less_is_not_certified_and_dropouts_take_more_noise():
    fewer = replace(MODEL, num_shares=MODEL.num_shares - 1)
    shuffle = UniformShuffleModel(num_users=2000)
    assert VectorSums().delta(ProtocolModel(local=fewer, shuffle=shuffle), epsilon=1.0) > 1e-6
    assert VectorSums().delta(ProtocolModel(local=MODEL, shuffle=shuffle), epsilon=1.0) <= 1e-6
    dropouts = calibrate.vector_sum(**USUAL, dropout_fraction=0.2).model
    assert (dropouts.share_variance, dropouts.noise_users) == (20.0, 1600)
    few = ProtocolModel(local=dropouts, shuffle=UniformShuffleModel(num_users=1600))
    assert sdp.account(few, delta=1e-6).guarantee.epsilon <= 1.0
    with pytest.raises(HypothesisError, match="at least noise_users=1600 honest people"):
        VectorSums().state(ProtocolModel(local=dropouts, shuffle=UniformShuffleModel(num_users=1599)), delta=1e-6)
    for norm in (1e-300, 1e300):
        with pytest.raises(InvalidParameterError, match="largest_norm must be from 1e-100 to 1e"):
            calibrate.vector_sum(**{**USUAL, "largest_norm": norm})
    assert calibrate.vector_sum(**USUAL, imperfection=3.0).num_messages > VectorSum(MODEL).num_messages
    for change, words in [
        ({"num_users": 100, "dimension": 100_000}, "num_users must be larger"),
        ({"imperfection": 40.0}, "imperfection must be smaller"),
        ({"imperfection": math.inf}, "imperfection must be finite"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"delta": 1.0}, "delta must be"),
        ({"releases": 0}, "releases must be"),
        ({"dropout_fraction": 1.0}, "dropout_fraction must be"),
    ]:
        with pytest.raises(InvalidParameterError, match=words):
            calibrate.vector_sum(**USUAL | change)


# ---- the task -------------------------------------------------------------------------------------------------------


def task_of(protocol=None, **further):
    return Task.from_dict(
        {
            "name": "step",
            "value": "gradient",
            "people": {"expected": 2000},
            "protocol": {"kind": "vector-sum", "epsilon": 1.0, "largest_norm": 2.0, "dimension": 5, **(protocol or {})},
            "release": {"delta": 1e-6},
            **further,
        }
    )


def test_a_remainder_below_what_tails_alone_need_is_refused_with_the_reason():
    with pytest.raises(InvalidParameterError, match="or delta larger, since no number of messages up to 1024"):
        calibrate.vector_sum(**USUAL | {"delta": 1e-30})


def test_a_task_says_what_is_sent_and_refuses_what_cannot_be():
    task = task_of({"block": 2, "releases": 3})
    assert Task.from_dict(task.to_dict()) == task
    column = plan(task).columns[0]
    model = task.column.randomizer.randomizer().model
    assert (column.of_question.residue_bytes, column.of_question.sent_bytes) == model.sent_bytes
    assert column.of_question.num_messages == 3 * model.num_shares
    assert task.column.targets == tuple(f"gradient[{each}]" for each in range(5))
    with pytest.raises(BatchTooSmallError, match="noise of at least 2000 people"):
        task.column.require_people(1999)
    for changes, words in [
        ({"dimension": 1}, "dimension must be"),
        ({"largest_norm": 0}, "largest_norm must be"),
        ({"largest_norm": 1e-300}, "largest_norm must be from 1e-100 to 1e"),
        ({"largest_norm": 1e300}, "largest_norm must be from 1e-100 to 1e"),
        ({"block": 0}, "block must be"),
        ({"block": 6}, "block must be at most dimension=5"),
        ({"lower": 0}, "only the keys"),
        ({"epsilon": 0.001}, r"\[protocol\] num_users must be larger.*num_users is expected of \[people\]"),
    ]:
        with pytest.raises(InvalidParameterError, match=words):
            task_of(changes)
