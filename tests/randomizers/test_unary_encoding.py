"""Unary encoding, symmetric and optimized: numbered guarantees, and vectors of recorded words."""

import math
import tracemalloc

import mpmath
import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.local_models import LocalModel
from shuffledp.randomizers import (
    KaryRandomizedResponseModel,
    OptimizedUnaryEncoding,
    OptimizedUnaryEncodingModel,
    SymmetricUnaryEncoding,
    SymmetricUnaryEncodingModel,
)
from shuffledp.randomizers.sampling.coins import PackedCoins
from shuffledp.testing import RecordedSource, SeededSource

WORDS = 2**64
BOTH = (SymmetricUnaryEncoding, OptimizedUnaryEncoding)
MODELS = (SymmetricUnaryEncodingModel, OptimizedUnaryEncodingModel)
LOSSES = (1e-6, 0.01, 0.5, 1.0, math.log(3), 2.0, 5.0, 20.0, 30.0)

both = pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.__name__)


# ---- guarantee 1: epsilon0 is that of the integers used, at most what was asked for, by less than 1e-6 --------------


@both
@pytest.mark.parametrize("epsilon0", LOSSES)
def test_guarantee_1_the_loss_used_is_at_most_the_loss_asked_for_and_less_than_a_millionth_below(kind, epsilon0):
    model = kind(epsilon0=epsilon0, domain_size=5).model
    assert 0 < model.epsilon0 <= epsilon0 < model.epsilon0 + 1e-6
    assert model.guarantee.delta == 0


@both
@pytest.mark.parametrize("epsilon0", LOSSES)
def test_guarantee_1_the_loss_is_that_of_two_bits_rounded_up(kind, epsilon0):
    model = kind(epsilon0=epsilon0, domain_size=5).model
    true, false = model.true_words, model.false_words
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.mpf(true) * (WORDS - false) / (mpmath.mpf(WORDS - true) * false))
        assert mpmath.mpf(math.nextafter(model.epsilon0, 0)) < exact <= mpmath.mpf(model.epsilon0)


@both
def test_guarantee_1_a_saturated_loss_is_refused(kind):
    largest = 30.54 if kind is OptimizedUnaryEncoding else 59.7
    kind(epsilon0=largest, domain_size=5)
    for epsilon0 in (largest + 0.1, 1e300, 1e-7):
        with pytest.raises(InvalidParameterError, match=r"epsilon0 must be from 1e-06 to .*saturates"):
            kind(epsilon0=epsilon0, domain_size=5)


def test_the_true_bit_is_a_fair_coin_if_optimized_and_mirrors_the_others_if_symmetric():
    assert OptimizedUnaryEncoding(epsilon0=2.0, domain_size=5).model.p == 0.5
    symmetric = SymmetricUnaryEncoding(epsilon0=2.0, domain_size=5).model
    assert symmetric.true_words + symmetric.false_words == WORDS


# ---- guarantee 2: independent bits with the probabilities of the model ----------------------------------------------


@both
def test_guarantee_2_the_channel_is_the_product_of_its_bits(kind):
    model = kind(epsilon0=1.0, domain_size=4).model
    channel = model.channel(exact=True)
    assert channel.matrix.shape == (4, 16)
    for value in range(4):
        for output in range(16):
            words = [model.true_words if place == value else model.false_words for place in range(4)]
            chances = [words[place] if output >> place & 1 else WORDS - words[place] for place in range(4)]
            assert channel.matrix[value, output] * WORDS**4 == math.prod(chances)


def test_guarantee_2_recorded_words_give_the_reports_of_the_page():
    # q = 1/4 is 0.01 in binary: a coin of the batch is set if its first place is 0 and its second is 0 too; these take
    # one word each for all coins. Then one word a report, below 2^63 for a true bit that is set.
    model = OptimizedUnaryEncodingModel(domain_size=10, false_words=2**62)
    first = int.from_bytes(bytes([0b11110000, 0b00000001, 0b10101010, 0b11111110]), "little")
    second = int.from_bytes(bytes([0b11001100, 0b00000010, 0b11111111, 0b11111100]), "little")
    source = RecordedSource([first, second, 2**63 - 1, 2**63])
    reports = OptimizedUnaryEncoding.from_model(model).randomize([9, 1], source=source)
    assert source.remaining == 0
    # Neither place: 00000011 and, of the two bits left, 00; then bit 9 of the first is set. Likewise 00000000 and 01;
    # bit 1 of the second stays clear.
    assert reports["bits"].tolist() == [[0b00000011, 0b10], [0b00000000, 0b01]]


def test_guarantee_2_the_true_bit_is_replaced_and_not_only_added():
    model = OptimizedUnaryEncodingModel(domain_size=8, false_words=2**62)
    source = RecordedSource([0, 0, 2**63])
    reports = OptimizedUnaryEncoding.from_model(model).randomize([3], source=source)
    assert reports["bits"].tolist() == [[0b11110111]]


@pytest.mark.parametrize("true_word", [0, 3 * 2**62 - 1, 3 * 2**62, WORDS - 1])
def test_guarantee_2_a_symmetric_true_bit_is_set_by_the_words_below_its_threshold(true_word):
    model = SymmetricUnaryEncodingModel(domain_size=8, false_words=2**62)
    source = RecordedSource([WORDS - 1, true_word])
    reports = SymmetricUnaryEncoding.from_model(model).randomize([7], source=source)
    assert reports["bits"].tolist() == [[128 if true_word < 3 * 2**62 else 0]]


# ---- guarantee 3: the words do not depend on the answers ------------------------------------------------------------


@both
@pytest.mark.parametrize("domain_size", [2, 8, 13, 200])
def test_guarantee_3_answers_change_their_own_two_bits_and_nothing_else(kind, domain_size):
    randomizer, count = kind(epsilon0=1.0, domain_size=domain_size), 300
    left, right = np.zeros(count, dtype=int), np.arange(count) % domain_size
    sources = SeededSource(1), SeededSource(1)
    ours, theirs = (
        randomizer.randomize(answers, source=source)["bits"]
        for answers, source in zip((left, right), sources, strict=True)
    )
    assert sources[0].words(1) == sources[1].words(1)
    bits = [np.unpackbits(each, axis=1, bitorder="little") for each in (ours, theirs)]
    rows, places = np.nonzero(bits[0] != bits[1])
    assert rows.size > 0
    assert np.all((places == left[rows]) | (places == right[rows]))


@both
def test_long_columns_are_handled_in_batches_without_a_seam(kind):
    rows = PackedCoins(10**9, 20).rows
    randomizer, answers = kind(epsilon0=1.0, domain_size=20), np.arange(2 * rows + 3) % 20
    whole = randomizer.randomize(answers, source=SeededSource(2))["bits"]
    source = SeededSource(2)
    parts = [
        randomizer.randomize(answers[at : at + rows], source=source)["bits"] for at in range(0, len(answers), rows)
    ]
    assert np.array_equal(whole, np.concatenate(parts))


# ---- guarantee 4: memory --------------------------------------------------------------------------------------------


@both
def test_guarantee_4_beside_the_reports_a_few_megabytes_do(kind):
    randomizer, answers = kind(epsilon0=1.0, domain_size=1000), np.zeros(50_000, dtype=np.int64)
    randomizer.randomize(answers[:10])
    tracemalloc.start()
    reports = randomizer.randomize(answers)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reports["bits"].nbytes == 50_000 * 125  # 6 MB; a byte per bit would be 50 MB
    assert peak < reports["bits"].nbytes + 4e6


# ---- parameters and reports -----------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("epsilon0", [0, -1.0, math.nan, math.inf, "1", None, True])
def test_a_loss_that_is_no_positive_number_is_refused(kind, epsilon0):
    with pytest.raises(InvalidParameterError, match="epsilon0 must be a finite number above 0"):
        kind(epsilon0=epsilon0, domain_size=2)


@both
@pytest.mark.parametrize("domain_size", [1, 0, -3, 2.0, "2", None, True, 2**20 + 1, 10**30])
def test_a_domain_that_is_too_small_or_too_large_is_refused(kind, domain_size):
    with pytest.raises(InvalidParameterError, match="domain_size must be "):
        kind(epsilon0=1.0, domain_size=domain_size)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("false_words", [0, -1, 1.0, 2**63, 2**64])
def test_false_bits_that_are_no_rarer_than_half_are_refused(model, false_words):
    with pytest.raises(InvalidParameterError, match="false_words must be "):
        model(domain_size=3, false_words=false_words)


@pytest.mark.parametrize("number", [np.int64, np.uint64, np.int8])
def test_numbers_of_numpy_are_as_good_as_any(number):
    model = OptimizedUnaryEncoding(epsilon0=np.float32(1.0), domain_size=number(4)).model
    assert model == OptimizedUnaryEncoding(epsilon0=1.0, domain_size=4).model
    assert type(model.domain_size) is int


def test_the_model_of_another_randomizer_is_refused():
    model = SymmetricUnaryEncoding(epsilon0=1.0, domain_size=4).model
    assert SymmetricUnaryEncoding.from_model(model).model == model
    for wrong in (model, KaryRandomizedResponseModel(domain_size=4, share=2**60), None):
        with pytest.raises(InvalidParameterError, match="model must be a OptimizedUnaryEncodingModel"):
            OptimizedUnaryEncoding.from_model(wrong)


@both
def test_kinds_of_one_shape_are_read_back_as_themselves(kind):
    model = kind(epsilon0=1.0, domain_size=4).model
    assert type(LocalModel.from_dict(model.to_dict())) is type(model)
    assert repr(kind.from_model(model)) == f"{kind.__name__}(epsilon0={model.epsilon0!r}, domain_size=4)"


def test_a_report_supports_the_values_whose_bits_are_set():
    model = OptimizedUnaryEncoding(epsilon0=1.0, domain_size=10).model
    reports = Reports({"bits": np.array([[3, 2], [1, 0], [0, 0]], dtype=np.uint8)}, model)
    assert model.support_counts(reports.columns).tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert model.support_counts(reports.take([]).columns).tolist() == [0] * 10


def test_a_channel_that_would_fill_the_memory_is_not_made():
    assert OptimizedUnaryEncoding(epsilon0=1.0, domain_size=12).model.channel().matrix.shape == (12, 4096)
    assert OptimizedUnaryEncoding(epsilon0=1.0, domain_size=13).model.channel() is None


@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 3.0])
def test_the_variance_is_that_of_the_paper(epsilon0):
    e, h = math.exp(epsilon0), math.exp(epsilon0 / 2)
    optimized = OptimizedUnaryEncoding(epsilon0=epsilon0, domain_size=9).model
    symmetric = SymmetricUnaryEncoding(epsilon0=epsilon0, domain_size=9).model
    assert optimized.variance_per_report == pytest.approx(4 * e / (e - 1) ** 2)
    assert symmetric.variance_per_report == pytest.approx(h / (h - 1) ** 2)
    assert optimized.report_bits == symmetric.report_bits == 9
