"""Subset selection: numbered guarantees, and vectors of recorded words."""

import itertools
import math
import tracemalloc
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.randomizers import KaryRandomizedResponseModel, SubsetSelection, SubsetSelectionModel, subset_selection
from shuffledp.randomizers.sampling.coins import PackedCoins
from shuffledp.randomizers.subset_selection import _add_compiled, _add_plainly, _threshold
from shuffledp.randomness.sources import uniform_integers
from shuffledp.testing import RecordedSource, SeededSource

WORDS = 2**64


def from_epsilon0(epsilon0, domain_size) -> SubsetSelectionModel:
    return SubsetSelectionModel.from_epsilon0(epsilon0=epsilon0, domain_size=domain_size)


def word_for(value: int, bound: int) -> int:
    """A word from which a uniform number below ``bound`` comes out as ``value``."""
    return (2 * value + 1) * WORDS // (2 * bound)


# ---- guarantee 1: the loss ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon0", [1e-6, 0.1, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("domain_size", [2, 3, 10, 1000, 2**20])
def test_guarantee_1_the_loss_is_that_of_the_integers_and_less_than_a_millionth_below_what_was_asked(
    epsilon0, domain_size
):
    model = from_epsilon0(epsilon0, domain_size)
    assert 0 < model.epsilon0 <= epsilon0 < model.epsilon0 + 1e-6
    with mpmath.workdps(60):
        odds = mpmath.mpf(WORDS - model.false_words) / model.false_words
        exact = mpmath.log(odds * (domain_size - model.subset_size) / model.subset_size)
        assert mpmath.mpf(math.nextafter(model.epsilon0, 0)) < exact <= mpmath.mpf(model.epsilon0)


@pytest.mark.parametrize(("domain_size", "subset_size"), [(2, 1), (5, 1), (5, 2), (6, 3), (5, 4)])
def test_guarantee_1_the_channel_is_that_of_all_subsets(domain_size, subset_size):
    model = SubsetSelectionModel(domain_size=domain_size, subset_size=subset_size, false_words=2**60)
    channel = model.channel(exact=True)
    numbers = [sum(2**v for v in held) for held in itertools.combinations(range(domain_size), subset_size)]
    for value in range(domain_size):
        for output, number in enumerate(sorted(numbers)):
            likely = Fraction(15, 16) / math.comb(domain_size - 1, subset_size - 1)
            unlikely = Fraction(1, 16) / math.comb(domain_size - 1, subset_size)
            assert channel.matrix[value, output] == (likely if number >> value & 1 else unlikely)


@pytest.mark.parametrize(("domain_size", "epsilon0"), [(7, 0.1), (7, 1.0), (30, 0.5), (100, 2.0), (100, 6.0)])
def test_no_other_subset_size_brings_less_error_to_equally_frequent_values(domain_size, epsilon0):
    errors = []
    for size in range(1, domain_size):
        model = SubsetSelectionModel._of_size(epsilon0, domain_size, size)
        own, others = model.p * (1 - model.p), (domain_size - 1) * model.q * (1 - model.q)
        errors.append((own + others) / (model.p - model.q) ** 2)
    best = from_epsilon0(epsilon0, domain_size).subset_size
    assert errors[best - 1] <= min(errors) * (1 + 1e-9)


# ---- guarantee 2: all sets equally likely ---------------------------------------------------------------------------


@pytest.mark.parametrize(("domain_size", "subset_size"), [(2, 1), (5, 1), (5, 2), (6, 3), (5, 4)])
def test_guarantee_2_support_has_the_probabilities_of_the_model_for_every_pair_of_values(domain_size, subset_size):
    model = SubsetSelectionModel(domain_size=domain_size, subset_size=subset_size, false_words=2**60)
    matrix = model.channel(exact=True).matrix
    numbers = sorted(sum(2**v for v in held) for held in itertools.combinations(range(domain_size), subset_size))
    for true, value in itertools.product(range(domain_size), repeat=2):
        support = sum(chance for chance, number in zip(matrix[true], numbers, strict=True) if number >> value & 1)
        assert float(support) == (model.p if true == value else model.q)


@pytest.mark.parametrize(
    ("domain_size", "epsilon0"), [(2, 1.0), (3, 0.1), (8, 0.5), (13, 1.0), (100, 1.0), (1000, 3.0)]
)
def test_guarantee_2_every_report_holds_as_many_values_as_the_model_says(domain_size, epsilon0):
    randomizer = SubsetSelection(epsilon0=epsilon0, domain_size=domain_size)
    reports = randomizer.randomize(np.arange(2000) % domain_size, source=SeededSource(1))
    unpacked = np.unpackbits(reports["bits"], axis=1, count=domain_size, bitorder="little")
    assert set(unpacked.sum(axis=1).tolist()) == {randomizer.model.subset_size}


def test_guarantee_2_recorded_words_give_the_report_of_the_page():
    # k = 5, d = 3, answer 2: the others are numbered 0, 1, 3, 4. First a word says whether the answer is in.
    model = SubsetSelectionModel(domain_size=5, subset_size=3, false_words=2**62)
    for word, last in ((3 * 2**62 - 1, 2), (3 * 2**62, 1)):
        draws = [word_for(place, 4) for place in (0, 0, 3, 3, 1)]  # 0; passed over; 4; passed over; 1 is the spare
        source = RecordedSource([word, *draws])
        reports = SubsetSelection.from_model(model).randomize([2], source=source)
        assert source.remaining == 0
        assert reports["bits"].tolist() == [[1 << 0 | 1 << 4 | 1 << last]]


def in_plain_python(model: SubsetSelectionModel, answers: list[int], source: RecordedSource) -> list[set[int]]:
    """The documented procedure on sets of numbers."""
    size, wanted = model.domain_size, model.subset_size
    others, count = size - 1, len(answers)
    bits = np.zeros((count, -(-size // 8)), dtype=np.uint8)
    PackedCoins(count, size).fill(bits, _threshold(model), source)
    unpacked = np.unpackbits(bits, axis=1, count=size, bitorder="little")
    sets = [set(np.flatnonzero(row).tolist()) - {answer} for row, answer in zip(unpacked, answers, strict=True)]
    sets = [members if len(members) < wanted else set() for members in sets]
    included = [int(source.words(1)[0]) < WORDS - model.false_words for _ in answers]
    for row, answer in enumerate(answers):
        while True:
            number = int(uniform_integers(others, 1, source=source)[0])
            value = number + (number >= answer)
            if value not in sets[row]:
                is_last = len(sets[row]) == wanted - 1
                sets[row].add(answer if is_last and included[row] else value)
                if is_last:
                    break
    return sets


@pytest.mark.parametrize("add", [_add_plainly, _add_compiled])
@pytest.mark.parametrize(("domain_size", "subset_size"), [(2, 1), (3, 2), (9, 4), (41, 20), (130, 60), (300, 200)])
def test_guarantee_2_reports_are_those_of_plain_python_word_for_word(domain_size, subset_size, add, monkeypatch):
    monkeypatch.setattr(subset_selection, "_add_for", lambda _: add)
    monkeypatch.setattr(subset_selection, "_CHUNK_WORDS", 100)  # so that rows go on from one chunk to the next
    model = SubsetSelectionModel(domain_size=domain_size, subset_size=subset_size, false_words=2**61)
    answers, words = [place % domain_size for place in range(200)], SeededSource(4).words(40_000)
    source, again = RecordedSource(words), RecordedSource(words)
    reports = SubsetSelection.from_model(model).randomize(answers, source=source)["bits"]
    unpacked = np.unpackbits(reports, axis=1, count=domain_size, bitorder="little")
    assert [set(np.flatnonzero(row).tolist()) for row in unpacked] == in_plain_python(model, answers, again)
    assert source.remaining == again.remaining


@pytest.mark.parametrize("add", [_add_plainly, _add_compiled])
def test_guarantee_2_words_that_would_favor_a_value_are_rejected(add):
    # Of three others 2^64 mod 3 = 1 word is one too many: 0, whose product has a lower half below 1.
    bits, answers = np.zeros((1, 1), dtype=np.uint8), np.array([1])
    missing, spare = np.array([2]), np.zeros(1, dtype=np.int64)
    words = np.array([0, word_for(0, 3), word_for(0, 3), word_for(1, 3)], dtype=np.uint64)
    assert add((bits, answers, missing, spare), 0, words, 3) == 1
    assert (bits.tolist(), spare.tolist()) == ([[1]], [2])


@pytest.mark.parametrize(("domain_size", "subset_size"), [(41, 20), (130, 60), (300, 200), (1000, 7)])
def test_coins_set_most_of_the_values_and_seldom_too_many(domain_size, subset_size):
    model = SubsetSelectionModel(domain_size=domain_size, subset_size=subset_size, false_words=2**60)
    bits = np.zeros((2000, -(-domain_size // 8)), dtype=np.uint8)
    PackedCoins(2000, domain_size).fill(bits, _threshold(model), SeededSource(5))
    sizes = np.bitwise_count(bits).sum(axis=1)
    assert (sizes >= subset_size).mean() < 0.03
    if subset_size > 20:
        assert sizes.mean() > subset_size / 2


# ---- guarantee 3: the words do not depend on the answers ------------------------------------------------------------


@pytest.mark.parametrize("domain_size", [2, 5, 40])
def test_guarantee_3_whether_the_answer_is_put_in_changes_no_word_and_one_value_of_the_set(domain_size):
    answers, reports, following = np.arange(300) % domain_size, [], []
    size = max(1, domain_size // 4)
    for false_words in (1, 2**60, 2**62):  # below 2^64 (1 - d / k)
        model = SubsetSelectionModel(domain_size=domain_size, subset_size=size, false_words=false_words)
        source = SeededSource(2)
        drawn = SubsetSelection.from_model(model).randomize(answers, source=source)["bits"]
        reports.append(np.unpackbits(drawn, axis=1, bitorder="little"))
        following.append(int(source.words(1)[0]))
    assert len(set(following)) == 1
    differ = (reports[0] != reports[2]).sum(axis=1)
    assert set(differ.tolist()) == {0, 2}
    assert reports[0][np.arange(300), answers].all()
    assert not reports[2][np.arange(300), answers][differ == 2].any()


def test_long_columns_are_handled_in_batches_without_a_seam():
    rows = PackedCoins(10**9, 9).rows
    randomizer, answers = SubsetSelection(epsilon0=1.0, domain_size=9), np.arange(2 * rows + 3) % 9
    whole, source = randomizer.randomize(answers, source=SeededSource(3)), SeededSource(3)
    parts = [randomizer.randomize(answers[at : at + rows], source=source) for at in range(0, len(answers), rows)]
    assert whole == Reports.concat(parts)


# ---- guarantee 4: memory --------------------------------------------------------------------------------------------


def test_guarantee_4_beside_the_reports_a_few_megabytes_do():
    randomizer, answers = SubsetSelection(epsilon0=3.0, domain_size=1000), np.zeros(50_000, dtype=np.int64)
    randomizer.randomize(answers[:10])
    tracemalloc.start()
    reports = randomizer.randomize(answers)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < reports["bits"].nbytes + 10e6  # a byte per bit would be 50 MB


# ---- parameters and reports -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon0", [0, -1.0, math.nan, math.inf, "1", None, True, 1e-7, 33.0, 1e300, 10**400])
def test_a_loss_out_of_range_is_refused(epsilon0):
    with pytest.raises(InvalidParameterError, match="epsilon0 must be "):
        SubsetSelection(epsilon0=epsilon0, domain_size=10)


@pytest.mark.parametrize("domain_size", [1, 0, -3, 2.0, "2", None, True, 2**20 + 1, 10**30])
def test_a_domain_that_is_too_small_or_too_large_is_refused(domain_size):
    with pytest.raises(InvalidParameterError, match="domain_size must be "):
        SubsetSelection(epsilon0=1.0, domain_size=domain_size)


@pytest.mark.parametrize(
    ("subset_size", "false_words", "message"),
    [
        (0, 2**60, "subset_size must be an integer that is 1 or more"),
        (4, 2**60, "subset_size must be below domain_size"),
        (9, 2**60, "subset_size must be below domain_size"),
        (1.0, 2**60, "subset_size must be an integer that is 1 or more"),
        (1, 0, "false_words must be an integer that is 1 or more"),
        (1, 3 * 2**62, "false_words must be below 2"),
        (3, 2**62, "false_words must be below 2"),
        (2, 2**64, "false_words must be below 2"),
    ],
)
def test_sets_that_do_not_favor_the_answer_are_refused(subset_size, false_words, message):
    with pytest.raises(InvalidParameterError, match=message):
        SubsetSelectionModel(domain_size=4, subset_size=subset_size, false_words=false_words)


def test_the_model_of_another_randomizer_is_refused():
    with pytest.raises(InvalidParameterError, match="model must be a SubsetSelectionModel"):
        SubsetSelection.from_model(KaryRandomizedResponseModel(domain_size=4, share=2**60))


def test_a_report_with_another_number_of_values_is_refused_by_its_place():
    model = SubsetSelectionModel(domain_size=5, subset_size=2, false_words=2**60)
    Reports({"bits": np.array([[3], [6]], dtype=np.uint8)}, model)
    with pytest.raises(InvalidParameterError) as caught:
        Reports({"bits": np.array([[3], [7], [1]], dtype=np.uint8)}, model)
    assert str(caught.value) == "reports must have 2 bits set; 2 have not, first reports[1]."
    with pytest.raises(InvalidParameterError, match="reports must have 5 bits"):
        Reports({"bits": np.array([[96]], dtype=np.uint8)}, model)


def test_sets_of_one_value_are_randomized_response():
    ours = SubsetSelectionModel(domain_size=4, subset_size=1, false_words=3 * 2**60)
    theirs = KaryRandomizedResponseModel(domain_size=4, share=2**60)
    assert (ours.p, ours.q, ours.epsilon0) == (theirs.p, theirs.q, theirs.epsilon0)
    assert ours.channel(exact=True) == theirs.channel(exact=True)
    assert ours.report_bits == 4
    randomizer = SubsetSelection.from_model(ours)
    assert repr(randomizer) == f"SubsetSelection(epsilon0={ours.epsilon0!r}, domain_size=4)"


def test_a_channel_that_would_fill_the_memory_is_not_made():
    assert from_epsilon0(1.0, 14).channel().matrix.shape == (14, math.comb(14, 4))
    assert from_epsilon0(0.01, 15).channel() is None
    assert from_epsilon0(20.0, 1000).channel() is None
