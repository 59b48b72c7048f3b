"""The front page of the package is the page of names, and the words of the notation are those of the source."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STUB = (ROOT / "src" / "shuffledp" / "__init__.pyi").read_text(encoding="utf-8")
NAMES = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
NOTATION = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
WORD = re.compile(r"`(\w+)`")


def sections(text, heading, name):
    """Names below each heading, headings without names left out."""
    found = []
    for line in text.splitlines():
        if titled := re.fullmatch(heading, line):
            found.append((titled[1].lower(), []))
        elif (named := re.fullmatch(name, line)) and found and named[1] != "errors":
            found[-1][1].append(named[1])
    return [(title, names) for title, names in found if names]


def test_the_front_page_has_the_sections_of_the_page_of_names_in_its_order():
    front = sections(STUB, r"# ([^.:]+)", r"from \S+ import \w+ as (\w+)")
    page = sections(NAMES, r"## (.+)", r"\.\. auto\w+:: shuffledp\.(?:planning\.(?=calibrate))?(\w+)")
    assert front == page
    assert len(front) > 8


def words(text):
    """The words of the table of parameters: those in use, and those that are kept free."""
    table = text[text.index("## Parameters") : text.index("## Letters that clash")]
    used, later = set(), set()
    for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE):
        (later if "(*later*)" in row else used).update(WORD.findall(row))
    return used, later


def identifiers():
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    return set(re.findall(r"\b[a-z]\w*\b", re.sub(r'"""(?s:.*?)"""|#.*', "", source)))


def test_words_of_the_notation_are_in_the_source_and_those_marked_later_are_not():
    (used, later), known = words(NOTATION), identifiers()
    assert used - known == set()
    assert later & known == set()
    assert len(later) >= 2


@pytest.mark.parametrize("row", ["| `epsilon0` (*later*) | x |", "| `a_word_nobody_uses` | x |"])
def test_a_word_in_the_wrong_state_is_found(row):
    used, later = words(f"## Parameters\n{row}\n## Letters that clash")
    known = identifiers()
    assert (used - known) | (later & known)
