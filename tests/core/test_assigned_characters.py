"""Characters of Unicode 14: the table is that version's own, and the page has the same one."""

import re
import sys
import unicodedata
from pathlib import Path

import pytest

from shuffledp.core.assigned_characters import TABLE, UNKNOWN

JS = Path(__file__).parents[2] / "src" / "shuffledp" / "parties" / "client" / "js" / "assigned.js"


def test_the_page_has_the_same_table():
    (own,) = re.findall('const TABLE = "([^"]*)";', JS.read_text(encoding="utf-8"))
    assert own == TABLE


def test_the_table_is_that_of_unicode_14():
    """In Python 3.11 to the character; in later versions nothing is in the table that they do not assign."""
    is_same = unicodedata.unidata_version == "14.0.0"
    for point in range(0, sys.maxunicode + 1, 11):
        unassigned = unicodedata.category(chr(point)) in ("Cn", "Cs", "Co")
        unknown = UNKNOWN.match(chr(point)) is not None
        assert unknown == unassigned if is_same else unknown or not unassigned


@pytest.mark.parametrize("later", ["\U0001ccd6", "\u0897", "\U00010d50", "\ua7ce", "\ud800", "\ue000"])
def test_what_is_later_or_private_is_unknown(later):
    assert UNKNOWN.match(later)
    assert not UNKNOWN.match("\U0001fae0")  # of Unicode 14
