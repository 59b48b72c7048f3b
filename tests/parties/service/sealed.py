"""Submissions that look as if they were sealed: to a shuffler, ciphertexts are random bytes."""

import os

from shuffledp.parties.service.intake import Row, Shape, Terms
from shuffledp.parties.wire.grammar import HpkeCiphertext, Report, Submission

COLUMNS = (Shape(payload=18), Shape(payload=24))
TERMS = Terms(opens=0.0, closes=100.0, columns=COLUMNS, encapsulated={1: 32, 2: 32})


def report(*, column=0, payload=None, enc=32, config_id=1, extensions=()):
    length = COLUMNS[column].payload if payload is None else payload
    return Report.of(HpkeCiphertext(config_id, os.urandom(enc), os.urandom(length)), extensions)


def submission(**given):
    return Submission(tuple(report(column=column, **given) for column in range(len(COLUMNS))))


def rows(num_columns=1, *, number=None):
    """A submission as it is stored; those of one number are the same."""
    made = []
    for column in range(num_columns):
        text = os.urandom(80) if number is None else f"{number:010d}/{column}".encode() * 8
        made.append(Row(text[:16] if number is None else f"{number:015d}{column}".encode(), b"\0\0", text))
    return tuple(made)
