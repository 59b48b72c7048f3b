"""Codes of short texts: one length for all, one spelling of what differs in case, accents and blanks alone."""

import random

import pytest

from shuffledp import TextCode
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.text_codes import LETTERS, chunks_of, joined

LETTER_CODE, BYTE_CODE = TextCode("letters", 16), TextCode("bytes", 16)


@pytest.mark.parametrize(
    ("text", "sent", "is_less"),
    [
        ("nurse", "nurse", False),
        ("  Nurse ", "nurse", False),
        ("ÉCOLE\tnormale", "ecole normale", False),
        ("Straße", "strasse", False),
        ("Łódź", "lodz", False),
        ("O\u2019Neill", "o'neill", False),
        ("e\u0301cole", "ecole", False),
        ("route 66!", "route", True),
        ("abcdefghijklmnopqrst", "abcdefghijklmnop", True),
        ("abcdefghijklmno pq", "abcdefghijklmno", True),
        ("日本", "", True),
        ("a\u202eb\u0000c", "a b c", True),
        ("", "", False),
    ],
)
def test_letters_are_those_of_the_alphabet_and_what_is_left_out_is_told(text, sent, is_less):
    assert LETTER_CODE.normalized(text) == (sent, is_less)


@pytest.mark.parametrize(
    ("text", "sent", "is_less"),
    [
        ("École", "école", False),
        ("e\u0301cole", "école", False),
        ("日本語", "日本語", False),
        ("日本語日本語", "日本語日本", True),
        ("שלום\u202e", "שלום", True),
        ("a\u0007b", "ab", True),
        ("\u00a0A\u2003b ", "a b", False),
    ],
)
def test_bytes_are_those_of_whole_characters_without_controls(text, sent, is_less):
    assert BYTE_CODE.normalized(text) == (sent, is_less)


@pytest.mark.parametrize("code", [LETTER_CODE, BYTE_CODE], ids=["letters", "bytes"])
def test_a_code_is_of_one_length_and_leads_back_to_its_text(code):
    for text in ("a", "nurse", "it's a b-c", "z" * 16):
        assert 0 <= code.bits_of(text) < 1 << code.num_bits
        assert code.text_of(code.bits_of(text)) == text


@pytest.mark.parametrize("code", [LETTER_CODE, BYTE_CODE], ids=["letters", "bytes"])
def test_a_code_of_no_normalized_text_is_no_text(code):
    draw = random.Random(5)
    for _ in range(500):
        bits = draw.getrandbits(code.num_bits)
        text = code.text_of(bits)
        assert text is None or (code.normalized(text)[0] == text and code.bits_of(text) == bits)
    assert code.text_of(0) is None
    assert code.text_of(code.bits_of("ab") | 1) is None  # a symbol after the end


def test_letters_end_by_a_zero_and_all_others_are_different():
    assert len(set(LETTERS)) == len(LETTERS) <= 31
    assert LETTER_CODE.text_of(31 << 75) is None


def test_chunks_are_filled_up_with_zeros_and_join_to_the_code():
    assert chunks_of(0b10110, 5, 2) == (0b10, 0b11, 0b00)
    assert joined(chunks_of(0b10110, 5, 2), 2) == 0b101100


@pytest.mark.parametrize(("kind", "length"), [("words", 16), ("letters", 0), ("bytes", 65), ("bytes", 1.5)])
def test_other_codes_are_refused(kind, length):
    with pytest.raises(InvalidParameterError, match=r"(code|length) must be"):
        TextCode(kind, length)


@pytest.mark.parametrize("known", [["Nurse"], [""], ["nurse", "nurse"], [7], ["abcdefghijklmnopq"]])
def test_known_texts_are_written_as_they_are_sent_once_each(known):
    with pytest.raises(InvalidParameterError, match="known must be"):
        LETTER_CODE.known(known)
