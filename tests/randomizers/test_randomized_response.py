"""k-ary randomized response: the integers it uses, its numbered guarantees, and vectors of recorded words."""

import math

import mpmath
import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.randomizers import KaryRandomizedResponse, KaryRandomizedResponseModel
from shuffledp.randomizers.randomized_response import _BATCH
from shuffledp.testing import RecordedSource, SeededSource

WORDS = 2**64
GRID = [
    (epsilon0, domain_size)
    for epsilon0 in (1e-6, 0.01, 0.1, 0.5, 1.0, math.log(3), 2.0, 5.0, 10.0, 20.0, 30.0, 30.5)
    for domain_size in (2, 3, 4, 16, 1000, 4_000_000)
]
SMALL = [KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=size) for size in (2, 3, 4)]


def from_epsilon0(epsilon0, domain_size) -> KaryRandomizedResponseModel:
    return KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=domain_size)


def respond(model: KaryRandomizedResponseModel, answers: list[int], words: list[int]) -> list[int]:
    source = RecordedSource(words)
    reports = KaryRandomizedResponse.from_model(model).randomize(answers, source=source)
    assert source.remaining == 0
    return reports["value"].tolist()


# ---- the integers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon0", "domain_size"), GRID)
def test_the_share_of_a_lie_is_rounded_up_from_sixty_digits(epsilon0, domain_size):
    with mpmath.workdps(60):
        expected = int(mpmath.ceil(WORDS / (mpmath.exp(mpmath.mpf(epsilon0)) + domain_size - 1)))
    assert from_epsilon0(epsilon0, domain_size).share == expected


@pytest.mark.parametrize(("epsilon0", "domain_size"), GRID)
def test_truth_and_lies_together_are_all_words(epsilon0, domain_size):
    model = from_epsilon0(epsilon0, domain_size)
    assert model.truth_words + (domain_size - 1) * model.share == WORDS
    assert model.truth_words > model.share > 0
    assert model.p == model.truth_words / WORDS
    assert model.q == model.share / WORDS


# ---- guarantee 1: epsilon0 is that of the integers used, at most what was asked for, by less than 1e-6 --------------


@pytest.mark.parametrize(("epsilon0", "domain_size"), GRID)
def test_guarantee_1_the_loss_used_is_at_most_the_loss_asked_for_and_less_than_a_millionth_below(epsilon0, domain_size):
    used = from_epsilon0(epsilon0, domain_size).epsilon0
    assert used <= epsilon0
    assert epsilon0 - used < 1e-6
    assert used > 0


@pytest.mark.parametrize(("epsilon0", "domain_size"), GRID)
def test_guarantee_1_the_loss_is_the_log_ratio_of_the_integers_rounded_up(epsilon0, domain_size):
    model = from_epsilon0(epsilon0, domain_size)
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.mpf(model.truth_words) / model.share)
        assert mpmath.mpf(math.nextafter(model.epsilon0, 0)) < exact <= mpmath.mpf(model.epsilon0)
    assert model.guarantee.delta == 0


@pytest.mark.parametrize(("epsilon0", "domain_size"), GRID)
def test_guarantee_1_no_smaller_share_would_keep_the_loss_asked_for(epsilon0, domain_size):
    share = from_epsilon0(epsilon0, domain_size).share - 1
    with mpmath.workdps(60):
        assert mpmath.log(mpmath.mpf(WORDS - share * (domain_size - 1)) / share) > epsilon0


# ---- guarantee 2: all other answers are equally likely: each has exactly ``share`` words ----------------------------


@pytest.mark.parametrize("model", SMALL, ids=lambda model: f"k={model.domain_size}")
def test_guarantee_2_the_first_and_the_last_word_of_every_share_give_the_documented_answer(model):
    truth, share, size = model.truth_words, model.share, model.domain_size
    for answer in range(size):
        assert respond(model, [answer, answer], [0, truth - 1]) == [answer, answer]
        for step in range(1, size):
            first = truth + (step - 1) * share
            assert respond(model, [answer, answer], [first, first + share - 1]) == [(answer + step) % size] * 2
        assert first + share == WORDS  # so that these intervals are all words: nothing is left unsaid


def test_recorded_words_give_the_reports_of_the_page():
    # k = 4 with q = 1/8: truth below 5 * 2^61, then an eighth of the words for each next answer.
    model = KaryRandomizedResponseModel(domain_size=4, share=2**61)
    words = [0, 5 * 2**61 - 1, 5 * 2**61, 6 * 2**61, 7 * 2**61, WORDS - 1]
    assert respond(model, [2] * 6, words) == [2, 2, 3, 0, 1, 1]
    assert respond(model, [0] * 6, words) == [0, 0, 1, 2, 3, 3]


def test_the_largest_domain_reports_its_last_answers():
    model = from_epsilon0(20.0, 2**31)
    words = [0, model.truth_words, WORDS - 1]
    assert respond(model, [2**31 - 1] * 3, words) == [2**31 - 1, 0, 2**31 - 2]


# ---- guarantee 3: reports are independent, and the work does not depend on what is drawn ----------------------------


@pytest.mark.parametrize("epsilon0", [0.01, 1.0, 30.0])
def test_guarantee_3_each_report_takes_one_word_whatever_is_drawn(epsilon0):
    model = from_epsilon0(epsilon0, 5)
    for words in ([0] * 100, [WORDS - 1] * 100, SeededSource(1).words(100).tolist()):
        source = RecordedSource([*words, 0])
        KaryRandomizedResponse.from_model(model).randomize(np.arange(100) % 5, source=source)
        assert source.remaining == 1


def test_guarantee_3_a_report_depends_on_its_own_answer_and_its_own_word_only():
    model, words = from_epsilon0(1.0, 5), SeededSource(2).words(50).tolist()
    answers = [place % 5 for place in range(50)]
    before = respond(model, answers, words)
    for place in (0, 17, 49):
        other_word = words.copy()
        other_word[place] = WORDS - 1 if words[place] < model.truth_words else 0
        other_answer = answers.copy()
        other_answer[place] = (answers[place] + 1) % 5
        for after in (respond(model, answers, other_word), respond(model, other_answer, words)):
            assert [i for i in range(50) if after[i] != before[i]] == [place]


def test_long_columns_are_handled_in_batches_without_a_seam():
    count = 2 * _BATCH + 3
    randomizer, answers = KaryRandomizedResponse(epsilon0=1.0, domain_size=3), np.arange(count) % 3
    source = SeededSource(3)
    whole = randomizer.randomize(answers, source=source)["value"]
    assert source.words(1)[0] == SeededSource(3).words(count + 1)[-1]
    pieces, again = [], SeededSource(3)
    for start in range(0, count, 100_000):
        pieces.append(randomizer.randomize(answers[start : start + 100_000], source=again)["value"])
    assert np.array_equal(whole, np.concatenate(pieces))


# ---- parameters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon0", "domain_size"),
    [(epsilon0, 2) for epsilon0 in (30.6, 31, 40, 43.7, 44, 50, 99.9, 100, 709, 1000, 1e300, 10**290)]
    + [(1e-7, 2), (1e-19, 2), (5e-324, 2), (0.1, 2**31), (12.0, 2**31), (0.1, 5_000_000), (1e-6, 4_500_000)],
)
def test_a_loss_that_64_bits_cannot_represent_is_refused(epsilon0, domain_size):
    with pytest.raises(InvalidParameterError, match=r"epsilon0 must be from .* to .*64-bit randomness saturates"):
        from_epsilon0(epsilon0, domain_size)


@pytest.mark.parametrize("domain_size", [2, 3, 1000, 10**5, 10**7, 10**8, 2**31])
def test_at_both_ends_of_the_range_in_the_message_the_loss_is_within_a_millionth(domain_size):
    with pytest.raises(InvalidParameterError) as caught:
        from_epsilon0(1e-9, domain_size)
    least, largest = (float(word) for word in str(caught.value).split()[4:7:2])
    for epsilon0 in (least * 1.02, largest - 0.01):
        used = from_epsilon0(epsilon0, domain_size).epsilon0
        assert 0 < used <= epsilon0 < used + 1e-6


@pytest.mark.parametrize("epsilon0", [0, -1.0, math.nan, math.inf, "1", None, True])
def test_a_loss_that_is_no_positive_number_is_refused(epsilon0):
    with pytest.raises(InvalidParameterError, match="epsilon0 must be a finite number above 0"):
        KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2)


@pytest.mark.parametrize("domain_size", [1, 0, -3, 2.0, "2", True])
def test_a_domain_of_fewer_than_two_answers_is_refused(domain_size):
    with pytest.raises(InvalidParameterError, match="domain_size must be an integer that is 2 or more"):
        KaryRandomizedResponse(epsilon0=1.0, domain_size=domain_size)


@pytest.mark.parametrize("domain_size", [2**31 + 1, 10**30])
def test_a_domain_of_more_than_two_billion_answers_is_refused(domain_size):
    with pytest.raises(InvalidParameterError, match="domain_size must be at most 2147483648"):
        from_epsilon0(20.0, domain_size)


@pytest.mark.parametrize(
    ("domain_size", "share", "message"),
    [
        (2, 0, "share must be an integer that is 1 or more"),
        (2, -1, "share must be an integer that is 1 or more"),
        (2, 1.0, "share must be an integer that is 1 or more"),
        (2, 2**63, "share must be below 2"),
        (3, 2**64 // 3 + 1, "share must be below 2"),
        (4, 2**62, "share must be below 2"),
        (4, 2**64, "share must be below 2"),
    ],
)
def test_a_share_that_leaves_the_truth_no_likelier_than_a_lie_is_refused(domain_size, share, message):
    with pytest.raises(InvalidParameterError, match=message):
        KaryRandomizedResponseModel(domain_size=domain_size, share=share)


def test_the_least_and_the_largest_share_are_models():
    assert KaryRandomizedResponseModel(domain_size=2, share=1).epsilon0 == pytest.approx(64 * math.log(2))
    assert 0 < KaryRandomizedResponseModel(domain_size=2, share=2**63 - 1).epsilon0 < 1e-18


@pytest.mark.parametrize("number", [np.int64, np.uint64, np.int8])
def test_numbers_of_numpy_are_as_good_as_any(number):
    model = from_epsilon0(np.float32(1.0), number(4))
    assert model == from_epsilon0(1.0, 4)
    assert type(model.domain_size) is int
    assert model.truth_words == from_epsilon0(1, 4).truth_words


# ---- the model ------------------------------------------------------------------------------------------------------


def test_a_randomizer_is_made_from_its_model_or_from_the_loss():
    randomizer = KaryRandomizedResponse(epsilon0=2.0, domain_size=4)
    again = KaryRandomizedResponse.from_model(randomizer.model)
    assert again.model == randomizer.model
    values = np.arange(400) % 4
    assert again.randomize(values, source=SeededSource(1)) == randomizer.randomize(values, source=SeededSource(1))
    assert repr(randomizer) == f"KaryRandomizedResponse(epsilon0={randomizer.model.epsilon0!r}, domain_size=4)"


def test_a_report_supports_the_value_that_it_holds():
    model = from_epsilon0(1.0, 5)
    for dtype in (np.uint8, np.int64, np.uint64):
        counts = model.support_counts({"value": np.array([4, 1, 1, 0], dtype=dtype)})
        assert counts.tolist() == [1, 2, 0, 0, 1]
        assert counts.dtype == np.int64
    assert model.support_counts({"value": np.array([], dtype=np.uint8)}).tolist() == [0] * 5


def test_the_channel_has_p_on_the_diagonal_and_q_beside_it():
    channel = from_epsilon0(1.0, 3).channel()
    model = from_epsilon0(1.0, 3)
    assert channel.matrix.tolist() == [[model.p if x == y else model.q for y in range(3)] for x in range(3)]
    assert channel.epsilon() == pytest.approx(model.epsilon0, rel=1e-14)


def test_a_channel_that_would_fill_the_memory_is_not_made():
    assert from_epsilon0(1.0, 200).channel().matrix.shape == (200, 200)
    assert from_epsilon0(1.0, 4097).channel() is None
    assert from_epsilon0(1.0, 4097).channel(exact=True) is None


def test_truth_values_are_answers_where_there_are_two():
    randomizer = KaryRandomizedResponse(epsilon0=30.0, domain_size=2)
    assert randomizer.randomize([True, False, True]).columns["value"].tolist() == [1, 0, 1]
    with pytest.raises(InvalidParameterError, match="one number for each category"):
        KaryRandomizedResponse(epsilon0=1.0, domain_size=3).randomize([True, False])


@pytest.mark.parametrize("values", [[0, None, 1, None], [0.0, math.nan, 1.0, math.nan]])
def test_missing_answers_are_called_missing(values):
    with pytest.raises(InvalidParameterError, match=r"values must be complete; 2 missing, first values\[1\]"):
        KaryRandomizedResponse(epsilon0=1.0, domain_size=2).randomize(values)
