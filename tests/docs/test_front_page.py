"""The front page of the package is the page of names, and the words of the notation are those of the source."""

import re
from pathlib import Path

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
    """The words of the table of parameters."""
    table = text[text.index("## Parameters") : text.index("## Letters that clash")]
    return {word for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for word in WORD.findall(row)}


def identifiers():
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    return set(re.findall(r"\b[a-z]\w*\b", re.sub(r'"""(?s:.*?)"""|#.*', "", source)))


def test_words_of_the_notation_are_in_the_source_and_none_is_promised_for_later():
    assert words(NOTATION) - identifiers() == set()
    assert "later*" not in NOTATION
    assert "overlay" not in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_a_word_that_nobody_uses_is_found():
    row = "| `epsilon0`, `a_word_nobody_uses` | x |"
    assert words(f"## Parameters\n{row}\n## Letters that clash") - identifiers() == {"a_word_nobody_uses"}
