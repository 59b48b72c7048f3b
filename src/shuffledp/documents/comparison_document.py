"""Comparisons in words: differences with intervals, the people concerned, and the comparisons' number."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shuffledp.analyzers import AMONG, About, Differences, Independence
from shuffledp.analyzers.differences import DIFFERENCE
from shuffledp.core.text import count_of, printable
from shuffledp.documents.blocks import DETAIL, PAGE, TERMINAL, Block, Cell, Column, Role, Table, Text, told
from shuffledp.documents.document import COMPARED, Document, Place, Section
from shuffledp.documents.words import Scale, count, listed, number
from shuffledp.survey.comparisons import ColumnComparisons

_LEAST_P = 0.0001
_MOST_ROWS = 12  # on a terminal
_WHOM = {
    About.POPULATION: "a population that the people asked are a random sample of",
    About.ASKED: "the people asked themselves",
}
FREE = "All of this is made from numbers that are released, and costs no privacy."
_EVERYBODY = "Differences of shares of all people, asked or not: shares among those asked are not given."
_NOT_COMPARED = "Nothing here is compared: what the task compares does not fit this question."
_TOLD = {True: "yes", False: "no"}


def comparison_section(found: ColumnComparisons) -> Section | None:
    """Section of a release page on the comparisons of its task; None without comparisons."""
    blocks = [*_blocks(found), *told(_meaning([found]))]
    if not (found.differences or found.tests or found.untested):
        blocks = [*told(_NOT_COMPARED)]
    # A page about several columns has its own place for what is on pages: each block is on one medium.
    apart = [replace(each, on=medium) for each in blocks for medium in (TERMINAL, PAGE) if medium in each.on]
    return Section(anchor=COMPARED, title="Differences", blocks=tuple(apart), place=Place.RESULTS)


def comparison_document(title: str, found: Sequence[ColumnComparisons], remarks: Sequence[str] = ()) -> Document:
    """Document of comparisons inside one release or between two, with ``remarks`` at the end."""
    blocks: list[Block] = []
    for each in found:
        blocks += told(printable(each.value) * (len(found) > 1), role=Role.SUBHEADING)
        blocks += _blocks(each)
    notes = told(" ".join([_meaning(found), *remarks]))
    return Document(title=title, sections=(Section(anchor=COMPARED, title="", blocks=(*blocks, *notes)),))


def _blocks(found: ColumnComparisons) -> Iterator[Block]:
    """Differences of one column, then its test of independence."""
    yield from told(_EVERYBODY if found.of_everybody and found.differences else "")
    for each in found.differences:
        yield _table(each, on=PAGE)
        if len(each.target) == 1:
            yield Text(_in_a_line(each), Role.LEAD, on=TERMINAL)
            continue
        yield Text((table := _table(each, on=TERMINAL)).caption, on=TERMINAL)
        yield table
        left_out = len(each.target) - _MOST_ROWS
        yield from told(f"... and {count(left_out)} more: --json has all" if left_out > 0 else "", on=TERMINAL)
    for test in found.tests:
        yield Text(_of_test(test), Role.LEAD)
    yield from told(f"No test of independence: {found.untested}." if found.untested else "")


def _in_a_line(found: Differences) -> str:
    """Sentence on the only difference, number first."""
    scale = Scale.of(found)
    middle, low, high = (scale.plain(each[0], unit=False) for each in (found.estimate, found.lower, found.upper))
    told_apart = "" if found.differs[0] else "; not told from 0"
    among = AMONG * (AMONG in found.statistic)
    return f"{middle}{_unit(scale)} ({low} to {high}): {printable(found.target[0])}{among}{told_apart}"


def _unit(scale: Scale) -> str:
    return f" {scale.unit_of_errors}" if scale.unit_of_errors else ""


def _table(found: Differences, *, on: "object") -> Table:
    """Table of differences with intervals; on a terminal only the first rows, in ASCII letters."""
    scale, on_page = Scale.of(found), on is PAGE
    write = scale.text if on_page else scale.plain
    rows = tuple(
        (
            printable(name),
            Cell(text=write(middle, unit=False), bold=on_page),
            f"{write(low, unit=False)} to {write(high, unit=False)}",
            _TOLD[told_apart],
        )
        for name, middle, low, high, told_apart in zip(
            found.target, found.estimate, found.lower, found.upper, found.differs, strict=True
        )
    )
    together = f" that hold for all {count(found.num_comparisons)} together" if found.num_comparisons > 1 else ""
    unit = f", in{_unit(scale)}" if scale.unit_of_errors else ""
    what = f"{found.statistic.removesuffix(DIFFERENCE)}{unit}"
    caption = f"Differences of {what}, with {found.level * 100:.4g}% intervals{together}"
    heads = ("first less second", "difference", f"{found.level:.0%} interval", "told apart")
    columns = (Column(heads[0], left=True, folds=on_page), *map(Column, heads[1:]))
    medium = PAGE if on_page else TERMINAL | DETAIL
    return Table(caption, columns, rows if on_page else rows[:_MOST_ROWS], label=caption, on=medium)


def _of_test(test: Independence) -> str:
    """Sentence on a test of independence, its p-value first."""
    first, second = map(printable, test.columns)
    depend = f"{first} and {second} depend on each other"
    result = depend if test.differs else f"that {depend} is not shown"
    merged = [
        f"of {name}: {listed(list(map(printable, each)))}"
        for name, each in zip((first, second), test.merged, strict=True)
        if each
    ]
    rare = f" Rare categories were taken as one, {listed(merged)}." if merged else ""
    p = f"p < {_LEAST_P:g}" if test.p_value < _LEAST_P else f"p = {test.p_value:.3g}"
    degrees = count_of(test.degrees, "degree", "degrees")
    return (
        f"{p}: {result} (chi-square {number(test.statistic)} with {degrees} of freedom, of the "
        f"law that fits the reports best).{rare}"
    )


def _meaning(found: Sequence[ColumnComparisons]) -> str:
    """Sentences on the people compared, the number of counted comparisons, and their cost."""
    differences = [one for each in found for one in each.differences]
    total = max(each.num_comparisons for each in found)
    abouts = [_WHOM[each] for each in dict.fromkeys(one.about for one in differences)]
    whom = f"Differences are about {' or '.join(abouts)}." if abouts else ""
    level = f"{differences[0].level * 100:.4g}%" if differences else ""
    together = ""
    if total > 1:
        together = (
            f"{count(total)} comparisons are counted: in {level or '95%'} of all runs all intervals hold, and nothing "
            "is told apart that does not differ (the largest error where errors are known together, else Bonferroni; "
            "step by step). Whoever looks for more later compares more."
        )
    return " ".join(filter(None, [whom, together, FREE]))
