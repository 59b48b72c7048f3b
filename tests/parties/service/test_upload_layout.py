"""Uploads that are read at fixed offsets are what the grammar reads, or are left to it."""

import os
from dataclasses import replace

import pytest

from parties.service.sealed import COLUMNS, TERMS, report, submission
from shuffledp.core.errors import MalformedMessageError
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.service.collection_at_shuffler import _rows
from shuffledp.parties.service.intake import Shape, refusal
from shuffledp.parties.service.upload_layout import UploadLayouts
from shuffledp.parties.wire.grammar import Extension, Submission, UploadRequest

NOW = 50.0
ONE = replace(TERMS, columns=COLUMNS[:1])
EXTENDED = replace(
    TERMS,
    columns=(
        Shape(payload=18, extensions=((1, 2), (7, 0)), is_sound=lambda several: several[0].data != b"no"),
        COLUMNS[1],
    ),
)


def with_extensions(data=b"ok", types=(1, 7)):
    extensions = (Extension(types[0], data), Extension(types[1], b""))
    return Submission((report(extensions=extensions), report(column=1)))


def by_grammar(body, terms, now=NOW):
    """Rows of all submissions if none of them is refused; else None."""
    try:
        several = UploadRequest.decode(body, num_columns=len(terms.columns)).submissions
    except MalformedMessageError:
        return None
    if any(refusal(each, terms, phase=Phase.OPEN, now=now) for each in several):
        return None
    return [_rows(each) for each in several]


def one_column():
    return Submission((report(),))


@pytest.mark.parametrize(("terms", "made"), [(ONE, one_column), (TERMS, submission), (EXTENDED, with_extensions)])
def test_every_changed_byte_is_found_as_the_grammar_finds_it(terms, made):
    whole = UploadRequest((made(), made())).encode()
    layouts = UploadLayouts(terms)
    assert layouts.rows(whole, NOW) == by_grammar(whole, terms) is not None
    for at in range(len(whole)):
        for to in (whole[at] ^ 1, whole[at] ^ 0x80, 0, 255):
            changed = whole[:at] + bytes([to]) + whole[at + 1 :]
            assert layouts.rows(changed, NOW) == by_grammar(changed, terms)
    for cut in range(len(whole)):
        found = layouts.rows(whole[:cut], NOW)
        assert found == by_grammar(whole[:cut], terms)
    assert layouts.rows(whole + b"\0", NOW) is None


def test_submissions_of_each_key_are_read_and_those_of_a_key_that_had_its_time_are_left_to_the_grammar():
    first, second = (UploadRequest((submission(config_id=number),)).encode() for number in (1, 2))
    had = replace(TERMS, outdated={1: NOW})
    for body, terms, now, is_read in [
        (first, TERMS, NOW, True),
        (second, TERMS, NOW, True),
        (first, had, NOW - 1, True),
        (first, had, NOW, False),
        (second, had, NOW, True),
        (first + second, TERMS, NOW, False),
    ]:
        found = UploadLayouts(terms).rows(body, now)
        assert (found is not None) == is_read
        assert found in (None, by_grammar(body, terms, now))


def test_extensions_that_are_not_sound_and_reports_that_come_twice_are_left_to_the_grammar():
    layouts = UploadLayouts(EXTENDED)
    for wrong in (with_extensions(data=b"no"), with_extensions(types=(1, 8)), with_extensions(data=b"ok2")):
        assert layouts.rows(UploadRequest((wrong,)).encode(), NOW) is None
    alike = replace(TERMS, columns=(COLUMNS[0], COLUMNS[0]))
    twice = report().encode() * 2
    assert UploadLayouts(alike).rows(twice, NOW) is by_grammar(twice, alike) is None
    assert UploadLayouts(ONE).rows(twice, NOW) == by_grammar(twice, ONE)  # two submissions, of which one is a copy


def test_no_submission_at_all_is_left_to_the_grammar():
    assert UploadLayouts(ONE).rows(b"", NOW) is None
    assert UploadLayouts(ONE).rows(os.urandom(5), NOW) is None
