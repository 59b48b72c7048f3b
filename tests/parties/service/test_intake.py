"""What is taken in: one form, one time, one key, and the same again is the same."""

from dataclasses import replace

import pytest

from parties.service.sealed import COLUMNS, TERMS, report, submission
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.service.intake import Count, Row, admission, counted_as, refusal
from shuffledp.parties.wire.grammar import Extension, ReportError, Submission

NOW = 50.0


def refused(given, *, phase=Phase.OPEN, now=NOW, terms=TERMS):
    return refusal(given, terms, phase=phase, now=now)


def test_what_fits_is_taken():
    assert refused(submission()) is None


@pytest.mark.parametrize("phase", list(Phase)[1:])
def test_after_the_close_everything_is_late(phase):
    assert refused(submission(), phase=phase) is ReportError.TASK_EXPIRED
    assert refused(submission(), now=TERMS.closes) is ReportError.TASK_EXPIRED
    assert counted_as(ReportError.TASK_EXPIRED) is Count.LATE


def test_a_clock_that_jumps_back_makes_nothing_of_a_closed_collection():
    assert refused(submission(), phase=Phase.CLOSING, now=-1e9) is ReportError.TASK_EXPIRED


def test_before_the_opening_nothing_is_taken():
    assert refused(submission(), now=TERMS.opens - 1) is ReportError.TASK_NOT_STARTED


def test_a_report_of_another_length_is_refused():
    for wrong in (report(payload=COLUMNS[0].payload + 1), report(payload=1), report(enc=31)):
        assert refused(Submission((wrong, report(column=1)))) is ReportError.WRONG_LENGTH


def test_extensions_other_than_those_of_the_collection_are_refused():
    extended = report(extensions=(Extension(7, b"x"),))
    assert refused(Submission((extended, report(column=1)))) is ReportError.UNKNOWN_EXTENSION
    wanting = replace(TERMS, columns=(replace(COLUMNS[0], extensions=((7, 1),)), COLUMNS[1]))
    assert refused(Submission((extended, report(column=1))), terms=wanting) is None
    assert refused(submission(), terms=wanting) is ReportError.UNKNOWN_EXTENSION


def test_a_key_that_the_collection_does_not_name_is_refused_and_so_is_one_that_had_its_time():
    assert refused(submission(config_id=9)) is ReportError.HPKE_UNKNOWN_CONFIG_ID
    assert refused(submission(config_id=2)) is None
    had = replace(TERMS, outdated={2: NOW})
    assert refused(submission(config_id=2), terms=had) is ReportError.OUTDATED_CONFIG
    assert refused(submission(config_id=2), terms=had, now=NOW - 1) is None


def test_a_submission_needs_a_report_for_each_column():
    assert refused(Submission((report(),))) is ReportError.INVALID_MESSAGE


ROWS = (Row(b"1", b"x", b""), Row(b"2", b"y", b""))


def test_the_same_again_is_stored_already():
    assert admission(ROWS, [False, False]) is Count.STORED
    assert admission(ROWS, [b"x", b"y"]) is Count.DUPLICATE
    assert admission(ROWS, [True, True]) is Count.DUPLICATE


def test_a_report_that_was_part_of_another_submission_is_refused():
    assert admission(ROWS, [b"x", False]) is ReportError.REPORT_REPLAYED
    assert admission(ROWS, [False, True]) is ReportError.REPORT_REPLAYED


def test_the_same_ciphertext_with_other_extensions_is_refused():
    assert admission(ROWS, [b"x", b"z"]) is ReportError.EXTENSIONS_CHANGED
