"""The documentation builds without a warning, its snippets run and print what they show, and its links lead somewhere.

Blocks of a page run in order, in one namespace and one temporary directory:

* ``python`` blocks are executed; blocks with ``>>>`` (or marked ``pycon``) are checked by doctest;
* ``console`` blocks: each ``$ shuffledp ...`` line is run. Its output must match what the page shows up to the next
  ``$``, where ``...`` stands for anything; a page that shows no output accepts any. Other commands are not run.

A comment on the line before a block changes this: ``<!-- no-run -->`` skips it, ``<!-- file: NAME -->`` writes it to a
file of that name first, ``<!-- exit: N -->`` expects that exit status from its commands.
"""

import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import shuffledp
from cli.running import shuffledp as cli_run
from shuffledp.accounting.theorems import SHARP_THEOREMS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
MATCHING = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "MPLBACKEND": "Agg"}
SPHINX_BUILD = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html"]
MAX_EXAMPLE_LINES = 60
MOST_LINES_OF_AN_HOUR = 6200  # with blank lines and docstrings
LONG_PAGES = {"several-questions", "how-much-does-shuffling-buy", "imperfect-shuffling"}  # half a minute each


def markdown_pages() -> list[Path]:
    """Every page that a reader may open; a page that is built or generated is not one of them."""
    folders = [ROOT / name for name in ("docs", "examples", "experiments", "benchmarks")]
    nested = (page for folder in folders for page in folder.rglob("*.md") if "_build" not in page.parts)
    return sorted([*ROOT.glob("*.md"), *nested])


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    """A fenced block: the line of its fence, its language, the comment before it, and its text."""

    line: int
    language: str
    comment: str
    text: str


FENCE = re.compile(r"^( *)(`{3,}|~{3,})\s*([\w+-]*)")
COMMENT = re.compile(r"^\s*<!--\s*(.*?)\s*-->\s*$")


def fenced_blocks(markdown: str) -> Iterator[Block]:
    lines = markdown.splitlines()
    number, comment = 0, ""
    while number < len(lines):
        fence = FENCE.match(lines[number])
        if fence:
            indent, marks, language = fence.groups()
            end = number + 1
            while end < len(lines) and not lines[end].strip().startswith(marks):
                end += 1
            text = "\n".join(line.removeprefix(indent) for line in lines[number + 1 : end]) + "\n"
            yield Block(number + 1, language, comment, text)
            number, comment = end, ""
        elif lines[number].strip():
            found = COMMENT.match(lines[number])
            comment = found.group(1) if found else ""
        number += 1


# ---- running a page -------------------------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    return os.environ | TERMINAL | {"PYTHONPATH": path}


def run_page(name: str, markdown: str, folder: Path) -> None:
    """Run every block of a page; an AssertionError names the page and the line that does not do what it shows."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in fenced_blocks(markdown):
        keyword, _, argument = block.comment.partition(":")
        if keyword == "no-run":
            continue
        if keyword == "file":
            (folder / argument.strip()).write_text(block.text, encoding="utf-8")
        if block.language == "pycon" or (block.language == "python" and block.text.lstrip().startswith(">>>")):
            run_session(name, block, namespace)
        elif block.language == "python":
            run_code(name, block, namespace)
        elif block.language == "console":
            run_commands(name, block, int(argument) if keyword == "exit" else 0)


def run_code(name: str, block: Block, namespace: dict[str, object]) -> None:
    code = compile("\n" * block.line + block.text, name, "exec")  # so that line numbers are those of the page
    try:
        exec(code, namespace)  # noqa: S102
    except Exception as error:
        raise AssertionError(f"{name}:{block.line}: {type(error).__name__}: {error}") from error


def run_session(name: str, block: Block, namespace: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, namespace, name, name, block.line)
    report: list[str] = []
    results = doctest.DocTestRunner(optionflags=MATCHING).run(test, out=report.append, clear_globs=False)
    namespace.update(test.globs)
    assert results.failed == 0, f"{name}:{block.line}:\n" + "".join(report)


def run_commands(name: str, block: Block, status: int) -> None:
    """Run the commands of a block inside this process: starting Python for each would take longer than most of them."""
    for command, shown in commands(block.text):
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            done = cli_run(*shlex.split(command)[1:], merged=True, screen=True)
        place = f"{name}:{block.line}: $ {command}"
        assert done.code == status, f"{place}\nexit status {done.code}, not {status}:\n{done.out}"
        assert matches(shown, done.out), f"{place}\nthe page shows:\n{shown}\nbut it prints:\n{done.out}"


def commands(text: str, program: str = "shuffledp") -> Iterator[tuple[str, str]]:
    """The commands of a console block that run this program, each with the output that the page shows for it."""
    entries = re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]
    for entry in entries:
        line, _, shown = entry.partition("\n")
        last = line.split("&&")[-1].strip().removeprefix(".tools/bin/uv run ")
        if last.split(" ")[0] == program:
            yield last, shown


def matches(shown: str, printed: str) -> bool:
    if not shown.strip():
        return True
    return doctest.OutputChecker().check_output(trimmed(shown), trimmed(printed), doctest.ELLIPSIS)


def trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


# ---- the tests ------------------------------------------------------------------------------------------------------


@pytest.fixture
def in_tmp_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in TERMINAL.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def test_the_pages_build_without_a_warning(tmp_path):
    done = subprocess.run(
        [*SPHINX_BUILD, "-d", str(tmp_path / "doctrees"), str(ROOT / "docs"), str(tmp_path / "html")],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "html" / "concepts.html").stat().st_size > 1000


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.deep if page.stem in LONG_PAGES else ())
        for page in sorted({README, *(ROOT / "docs").rglob("*.md")})
    ],
    ids=relative,
)
def test_the_snippets_of_a_page_do_what_it_shows(page, in_tmp_path):
    if not page.exists():
        pytest.skip(f"{relative(page)} is not written yet")
    (in_tmp_path / "examples").symlink_to(ROOT / "examples")  # whose data a page may use
    run_page(relative(page), page.read_text(encoding="utf-8"), in_tmp_path)


def test_the_task_that_the_front_page_shows_is_that_of_the_examples():
    shown = next(block.text for block in fenced_blocks(README.read_text(encoding="utf-8")) if block.language == "toml")
    assert shown == (ROOT / "examples" / "walking.toml").read_text(encoding="utf-8")


def modules_with_examples():
    package = Path(shuffledp.__file__).parent
    shown = (path for path in package.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))
    return sorted(".".join(["shuffledp", *path.relative_to(package).with_suffix("").parts]) for path in shown)


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_in_docstrings_print_what_they_show(name, in_tmp_path):
    assert doctest.testmod(importlib.import_module(name), optionflags=MATCHING).failed == 0


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=relative)
def test_an_example_is_short_and_runs(example, tmp_path):
    assert len(example.read_text(encoding="utf-8").splitlines()) <= MAX_EXAMPLE_LINES
    done = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,
        env=environment(),
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for page, shown in pages_that_show(f"python {relative(example)}"):
        assert matches(shown, done.stdout), f"{page} shows:\n{shown}\nbut it prints:\n{done.stdout}"


def pages_that_show(wanted: str) -> Iterator[tuple[str, str]]:
    """Each page that shows this command of Python, with the output that it shows for it."""
    for page in markdown_pages():
        for block in fenced_blocks(page.read_text(encoding="utf-8")):
            for command, shown in commands(block.text, "python") if block.language == "console" else ():
                if command == wanted:
                    yield relative(page), shown


LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)[^)]*\)|^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
ELSEWHERE = ("http://", "https://", "mailto:", "#")


def broken_links(page: Path, markdown: str) -> list[str]:
    prose = re.sub(r"^ *(`{3,}|~{3,}).*?^ *\1", "", markdown, flags=re.MULTILINE | re.DOTALL)
    targets = ["".join(found) for found in LINK.findall(re.sub(r"`[^`\n]*`", "", prose))]
    files = [target.split("#")[0] for target in targets if not target.startswith(ELSEWHERE)]
    return [target for target in files if not (page.parent / target).exists()]


def test_relative_links_lead_to_files():
    broken = {relative(page): broken_links(page, page.read_text(encoding="utf-8")) for page in markdown_pages()}
    assert {page: links for page, links in broken.items() if links} == {}


TEST = re.compile(r"`(tests/[\w/-]+\.py)`(?:, `(test_\w+)`)?")


def missing_tests(markdown: str) -> list[str]:
    """Files of tests that a page names and that are not there, and tests named beside a file that lacks them."""
    missing = []
    for path, name in TEST.findall(markdown):
        source = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).exists() else None
        if source is None or (name and f"def {name}(" not in source):
            missing.append(name or path)
    return missing


def test_tests_that_pages_name_are_there():
    missing = {relative(page): missing_tests(page.read_text(encoding="utf-8")) for page in markdown_pages()}
    assert {page: names for page, names in missing.items() if names} == {}
    assert missing_tests("`tests/docs/test_docs.py`, `test_gone`, `tests/gone.py`") == ["test_gone", "tests/gone.py"]


MOST_COLUMNS = 90  # of code, which the site shows beside the list of pages without scrolling


def too_wide(markdown: str) -> list[int]:
    """The lines of code that are cut off, or scroll, at the right."""
    blocks = (block for block in fenced_blocks(markdown) if block.language)
    return [
        block.line + number
        for block in blocks
        for number, line in enumerate(block.text.splitlines(), start=1)
        if len(line) > MOST_COLUMNS
    ]


def test_code_on_a_page_of_the_site_fits_its_width():
    pages = {relative(page): too_wide(page.read_text(encoding="utf-8")) for page in (ROOT / "docs").rglob("*.md")}
    assert {page: lines for page, lines in pages.items() if lines} == {}
    assert too_wide(f"```python\n{'x' * 90}\n{'x' * 91}\n```\n{'x' * 91}") == [3]


def listed(index: str) -> list[str]:
    """The pages of the site in the order of its list, decisions left out."""
    trees = re.findall(r"```{toctree}\n(.*?)```", index, re.DOTALL)
    return [line for tree in trees for line in tree.splitlines() if re.fullmatch(r"[\w-]+", line)]


def test_the_list_of_the_site_has_every_page_once():
    pages = listed((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    assert sorted([*pages, "index"]) == sorted(page.stem for page in (ROOT / "docs").glob("*.md"))
    assert pages[0] == "tutorial"


MOST_LINES_OF_README = 120
MOST_BYTES_OF_PICTURE = 150_000


def test_the_readme_is_two_screens_with_one_picture():
    text = README.read_text(encoding="utf-8")
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert len(text.splitlines()) <= MOST_LINES_OF_README
    assert (ROOT / picture).stat().st_size <= MOST_BYTES_OF_PICTURE


def reading_order(page: str) -> list[str]:
    """The source files that a page links to, in its order."""
    return re.findall(r"\]\(\.\./src/shuffledp/([\w/]+\.py)\)", page)


def test_reading_the_code_goes_through_the_kernel_in_an_hour():
    page = (ROOT / "docs" / "reading-the-code.md").read_text(encoding="utf-8")
    files = reading_order(page)
    lines = [len((ROOT / "src" / "shuffledp" / file).read_text(encoding="utf-8").splitlines()) for file in files]
    assert files[0] == "pipeline.py"
    assert len(files) == len(set(files))
    assert sum(lines) < MOST_LINES_OF_AN_HOUR
    assert sum(int(minutes) for minutes in re.findall(r"^## .*\((\d+) minutes\)$", page, re.MULTILINE)) == 60
    assert "{literalinclude} ../examples/whole_collection.py" in page


def test_every_theorem_of_the_registry_has_a_row_with_its_kind_and_status():
    lines = (ROOT / "docs" / "theorems.md").read_text(encoding="utf-8").splitlines()
    rows = {line.split("`")[1]: line.split("|") for line in lines if line.startswith("| `") and line.count("|") == 7}
    assert set(rows) == {theorem.id for theorem in SHARP_THEOREMS}
    for theorem in SHARP_THEOREMS:
        *_, kind, status, _ = rows[theorem.id]
        assert theorem.kind.value.replace("-", " ") in kind
        assert status.strip().startswith(theorem.status.value.replace("-", " "))


def test_all_49_rows_of_the_reproductions_are_there():
    text = (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in text.splitlines() if re.match(r"\| \d+ \|", line)]
    assert sorted(int(row[0]) for row in rows) == list(range(1, 50))
    verdicts = [re.findall(r"\*\*(reproduced|refuted|not comparable)\*\*", "|".join(row)) for row in rows]
    assert [len(each) for each in verdicts] == [1] * 49
    assert all(row[-1].startswith(f" **{verdict}**") for row, (verdict,) in zip(rows, verdicts, strict=True))
    counts = Counter(verdict for (verdict,) in verdicts)
    said = re.search(r"(\d+) rows are reproduced, (\d+) refuted, and (\d+) not comparable", text)
    kinds = ("reproduced", "refuted", "not comparable")
    assert [int(number) for number in said.groups()] == [counts[each] for each in kinds]
    assert {len(row) for row in rows} == {6}


# ---- and the checks can fail ----------------------------------------------------------------------------------------

WRONG_PAGES = {
    "a block that raises": "```python\nraise ValueError('no')\n```",
    "a wrong value in a session": "```python\nx = 2\n```\n\n```pycon\n>>> x\n3\n```",
    "a wrong value in a python block with prompts": "```python\n>>> 1 + 1\n3\n```",
    "a name that an earlier page defined": "```python\nprint(defined_elsewhere)\n```",
    "an indented block": "* item\n\n  ```python\n  1 / 0\n  ```",
    "a command that prints something else": "```console\n$ shuffledp --help\nnothing\n```",
}


@pytest.mark.parametrize("markdown", WRONG_PAGES.values(), ids=WRONG_PAGES.keys())
def test_a_page_that_shows_something_wrong_is_refused(markdown, in_tmp_path):
    with pytest.raises(AssertionError, match=r"^page\.md:\d+"):
        run_page("page.md", markdown, in_tmp_path)


def test_blocks_of_a_page_share_names_and_files_and_may_be_skipped(in_tmp_path):
    page = (
        "<!-- file: note.txt -->\n```text\nhello\n```\n"
        "```python\nfrom pathlib import Path\ntext = Path('note.txt').read_text()\n```\n"
        "```pycon\n>>> text\n'h...\\n'\n```\n"
        "<!-- no-run -->\n```python\n1 / 0\n```\n"
        "```console\n$ rm -rf everything\n```\n"
    )
    run_page("page.md", page, in_tmp_path)


def test_console_output_is_compared_line_by_line():
    text = "$ ls\nx\n$ shuffledp a \\\n  --b\nshown\n...\nend\n$ cd x && .tools/bin/uv run shuffledp demo\n"
    assert list(commands(text)) == [("shuffledp a    --b", "shown\n...\nend\n"), ("shuffledp demo", "")]
    assert matches("shown\n...\nend\n", "shown  \n1\n2\nend\n")
    assert not matches("shown\nend\n", "shown\nother\n")
    assert not matches("shown\n...\n", "other\n")
    assert matches("", "anything")


def test_a_link_to_nothing_is_found():
    page = ROOT / "docs" / "index.md"
    text = (
        "[a](concepts.md#x) [b](gone.md) ![c](figures/flow.html) [d](https://example.org) `[e](no.md)`\n\n[f]: no.txt\n"
    )
    assert broken_links(page, text) == ["gone.md", "no.txt"]
    assert broken_links(page, "```\n[a](gone.md)\n```\n") == []
