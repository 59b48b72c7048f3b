"""Hadamard response: numbered guarantees, and vectors of recorded words."""

import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.linalg import hadamard

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.randomizers import HadamardResponse, HadamardResponseModel, KaryRandomizedResponseModel
from shuffledp.randomizers.hadamard import _BATCH
from shuffledp.testing import RecordedSource, SeededSource

WORDS = 2**64
SIZES = (2, 3, 4, 7, 8, 20)


def from_epsilon0(epsilon0, domain_size) -> HadamardResponseModel:
    return HadamardResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=domain_size)


# ---- guarantee 1: the loss ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon0", [1e-6, 0.1, 1.0, 5.0, 30.0])
def test_guarantee_1_the_loss_is_the_log_ratio_of_the_integers_and_less_than_a_millionth_below_what_was_asked(epsilon0):
    model = from_epsilon0(epsilon0, 5)
    assert 0 < model.epsilon0 <= epsilon0 < model.epsilon0 + 1e-6
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.mpf(WORDS - model.false_words) / model.false_words)
        assert mpmath.mpf(math.nextafter(model.epsilon0, 0)) < exact <= mpmath.mpf(model.epsilon0)


@pytest.mark.parametrize("domain_size", SIZES)
def test_guarantee_1_the_channel_follows_the_matrix(domain_size):
    model = from_epsilon0(1.0, domain_size)
    signs = hadamard(model.num_columns)[1 : domain_size + 1]
    share = Fraction(2, model.num_columns * WORDS)
    expected = np.where(signs == 1, share * (WORDS - model.false_words), share * model.false_words)
    assert (model.channel(exact=True).matrix == expected).all()


# ---- guarantee 2: uniform among the columns that support the answer, and among those that do not --------------------


@pytest.mark.parametrize("domain_size", SIZES)
def test_guarantee_2_of_equally_spaced_words_each_column_of_a_sign_comes_from_equally_many(domain_size):
    model = HadamardResponseModel(domain_size=domain_size, false_words=2**62)
    columns = model.num_columns
    indices = [column * WORDS // columns for column in range(columns)] * 2
    signs = [WORDS - 1] * columns + [0] * columns  # first those that ask for support, then those that do not
    matrix = hadamard(columns)
    for value in range(domain_size):
        source = RecordedSource(signs + indices)
        reports = HadamardResponse.from_model(model).randomize([value] * (2 * columns), source=source)["index"]
        assert source.remaining == 0
        for drawn, sign in ((reports[:columns], 1), (reports[columns:], -1)):
            wanted = [column for column in range(columns) if matrix[value + 1, column] == sign]
            assert Counter(drawn.tolist()) == dict.fromkeys(wanted, 2)


@pytest.mark.parametrize("domain_size", SIZES)
def test_guarantee_2_support_has_the_probabilities_of_the_model_for_every_pair_of_values(domain_size):
    model = from_epsilon0(1.0, domain_size)
    matrix, signs = model.channel(exact=True).matrix, hadamard(model.num_columns)[1 : domain_size + 1]
    for true in range(domain_size):
        for value in range(domain_size):
            assert float(matrix[true][signs[value] == 1].sum()) == (model.p if true == value else model.q)


def test_guarantee_2_recorded_words_give_the_reports_of_the_page():
    # k = 3: rows 1, 2, 3 of the matrix of 4, the column from the first two bits. Value 0 has row 1, which is + - + -.
    model = HadamardResponseModel(domain_size=3, false_words=2**62)
    signs = [2**62, 2**62, 2**62 - 1, 2**62 - 1]
    columns = [2 * 2**62, 3 * 2**62, 2 * 2**62, 3 * 2**62]
    reports = HadamardResponse.from_model(model).randomize([0] * 4, source=RecordedSource(signs + columns))
    assert reports["index"].tolist() == [2, 2, 3, 3]


# ---- guarantee 3: independence --------------------------------------------------------------------------------------


def test_guarantee_3_each_report_takes_two_words_whatever_is_drawn():
    randomizer = HadamardResponse(epsilon0=1.0, domain_size=5)
    for words in ([0] * 200, [WORDS - 1] * 200, SeededSource(1).words(200).tolist()):
        source = RecordedSource([*words, 0])
        randomizer.randomize(np.arange(100) % 5, source=source)
        assert source.remaining == 1


def test_guarantee_3_a_report_depends_on_its_own_answer_only():
    randomizer, answers = HadamardResponse(epsilon0=1.0, domain_size=60), np.arange(60)
    before = randomizer.randomize(answers, source=SeededSource(2))["index"]
    for place in (0, 17, 59):
        others = [np.where(answers == place, other, answers) for other in range(60)]
        after = [randomizer.randomize(other, source=SeededSource(2))["index"] for other in others]
        assert {int(i) for each in after for i in np.flatnonzero(each != before)} == {place}


def test_long_columns_are_handled_in_batches_without_a_seam():
    randomizer, answers = HadamardResponse(epsilon0=1.0, domain_size=5), np.arange(2 * _BATCH + 3) % 5
    whole, source = randomizer.randomize(answers, source=SeededSource(3)), SeededSource(3)
    parts = [randomizer.randomize(answers[at : at + _BATCH], source=source) for at in range(0, len(answers), _BATCH)]
    assert whole == Reports.concat(parts)


# ---- parameters and reports -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain_size", [2, 3, 4, 7, 8, 100, 1000])
def test_support_counts_are_those_of_the_matrix(domain_size):
    model = from_epsilon0(1.0, domain_size)
    indices = SeededSource(4).words(500) % np.uint64(model.num_columns)
    signs = hadamard(model.num_columns)[1 : domain_size + 1]
    counts = model.support_counts({"index": indices.astype(np.uint16)})
    assert counts.tolist() == [int((signs[value, indices.astype(int)] == 1).sum()) for value in range(domain_size)]
    assert counts.dtype == np.int64
    assert model.support_counts({"index": np.array([], dtype=np.uint8)}).tolist() == [0] * domain_size


def test_columns_are_the_least_power_of_two_above_the_domain():
    assert [from_epsilon0(1.0, size).num_columns for size in (2, 3, 4, 7, 8, 1000)] == [4, 4, 8, 8, 16, 1024]
    assert [from_epsilon0(1.0, size).report_bits for size in (3, 4)] == [2, 3]


@pytest.mark.parametrize("epsilon0", [0, -1.0, math.nan, math.inf, "1", None, True, 1e-7, 30.6, 10**400])
def test_a_loss_out_of_range_is_refused(epsilon0):
    with pytest.raises(InvalidParameterError, match="epsilon0 must be "):
        HadamardResponse(epsilon0=epsilon0, domain_size=10)


@pytest.mark.parametrize("domain_size", [1, 0, -3, 2.0, "2", None, True, 2**26, 10**30])
def test_a_domain_that_is_too_small_or_too_large_is_refused(domain_size):
    with pytest.raises(InvalidParameterError, match="domain_size must be "):
        HadamardResponse(epsilon0=1.0, domain_size=domain_size)


@pytest.mark.parametrize("false_words", [0, -1, 1.0, 2**63, 2**64])
def test_a_sign_that_is_wrong_half_the_time_is_refused(false_words):
    with pytest.raises(InvalidParameterError, match="false_words must be "):
        HadamardResponseModel(domain_size=3, false_words=false_words)


def test_the_model_of_another_randomizer_is_refused():
    with pytest.raises(InvalidParameterError, match="model must be a HadamardResponseModel"):
        HadamardResponse.from_model(KaryRandomizedResponseModel(domain_size=4, share=2**60))


@pytest.mark.parametrize(
    "columns",
    [{"value": np.array([0])}, {"index": np.array([0.0])}, {"index": np.array([[0]])}, {"index": np.array([16])}],
)
def test_columns_that_are_no_reports_are_refused(columns):
    with pytest.raises(InvalidParameterError, match=r"^(columns|reports) must be "):
        Reports(columns, from_epsilon0(1.0, 10))


def test_a_channel_that_would_fill_the_memory_is_not_made():
    assert from_epsilon0(1.0, 500).channel().matrix.shape == (500, 512)
    assert from_epsilon0(1.0, 4096).channel() is None


@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 3.0])
def test_the_variance_depends_on_the_loss_alone(epsilon0):
    e = math.exp(epsilon0)
    for size in (3, 1000):
        assert from_epsilon0(epsilon0, size).variance_per_report == pytest.approx(((e + 1) / (e - 1)) ** 2)
    randomizer = HadamardResponse(epsilon0=epsilon0, domain_size=3)
    assert repr(randomizer) == f"HadamardResponse(epsilon0={randomizer.model.epsilon0!r}, domain_size=3)"
