"""The command `difference`: the difference of two released numbers, from released data alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.options import Json, OfColumn, print_json, show_document
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.survey.comparisons import ColumnComparisons
    from shuffledp.survey.released_numbers import ReleasedFile, ReleasedNumbers

_MOST_NAMED = 8

First = Annotated[Path, typer.Argument(metavar="A", readable=False, help="Folder of a release, or its statement.json.")]
Second = Annotated[
    Path | None,
    typer.Argument(metavar="[B]", readable=False, help="Folder of another release: differences are A less B."),
]
Targets = Annotated[
    list[str] | None,
    typer.Option("--target", metavar="OPTION", help="Option to compare; once for each. All, if left out."),
]
SamePeople = Annotated[
    bool, typer.Option("--same-people", help="You claim that the same people are in both, as in two weeks.")
]


def difference(
    first: First,
    second: Second = None,
    *,
    compare: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="Of one release: options, regions or independence; once for each."),
    ] = None,
    target: Targets = None,
    value: OfColumn = None,
    same_people: SamePeople = False,
    json: Json = False,
) -> None:
    """Compare numbers of one or two releases, at no cost of privacy.

    Options or regions of one release, the independence of two answers that were randomized together, or a release and
    another one. How many comparisons are made is counted, and all intervals hold together.
    """
    from shuffledp.survey.released_numbers import ReleasedFile

    files = [ReleasedFile.read(each) for each in (first, second) if each is not None]
    if second is None:
        if same_people:
            raise InvalidParameterError("--same-people must be left out for one release; it is about two.")
        found = _inside(files[0], compare, target or (), value)
    else:
        if compare:
            raise InvalidParameterError("--compare must be left out for two releases, whose numbers are compared.")
        found = _apart(files[0], files[1], target or (), value, same_people=same_people)
    if json:
        print_json(_written(files, found, same_people=same_people))
        return
    from shuffledp.documents.comparison_document import comparison_document

    names = [file.name for file in files]
    title = names[0] if len(names) == 1 else f"{names[0]}, {first.name} less {second and second.name}"
    remarks = _remarks(files, same_people=same_people)
    if not target:
        remarks += _left_out([_chosen(file, value) for file in files], found)
    show_document(lambda: comparison_document(title, found, remarks))


def _inside(
    file: "ReleasedFile", compare: list[str] | None, targets: "list[str] | tuple[()]", value: str | None
) -> "tuple[ColumnComparisons, ...]":
    """Comparisons inside a release: the wanted kinds, else the task's kinds, else all kinds that fit."""
    from shuffledp.core.validate import invalid
    from shuffledp.survey.columns import Compared
    from shuffledp.survey.comparisons import inside

    columns = _chosen(file, value)
    known = [each.value for each in Compared]
    for each in compare or ():
        if each not in known:
            raise invalid(f"one of {', '.join(known)}", compare=each)
    fits = [kind for each in columns for kind in each.column.comparable]
    wanted = [Compared(each) for each in compare or columns[0].column.release.compare] or list(dict.fromkeys(fits))
    if not wanted or not set(wanted) <= set(fits):
        missing = next((each for each in wanted if each not in fits), Compared.OPTIONS)
        raise InvalidParameterError(
            f"the release must have something to compare by itself: {missing.value} needs {missing.needed}. Name "
            "another release to compare it with."
        )
    _require_targets([each for each in columns if set(wanted) & set(each.column.comparable)], targets)
    found = inside(columns, wanted, level=columns[0].column.release.level, targets=targets)
    return tuple(each for each in found if each.differences or each.tests or each.untested)


def _apart(
    first: "ReleasedFile",
    second: "ReleasedFile",
    targets: "list[str] | tuple[()]",
    value: str | None,
    *,
    same_people: bool,
) -> "tuple[ColumnComparisons, ...]":
    """Differences between two releases: numbers of the first minus numbers of the second."""
    from shuffledp.survey.comparisons import apart

    if first.content == second.content:
        raise InvalidParameterError("B must be another release than A; it is the same one.")
    columns = _chosen(first, value), _chosen(second, value)
    both = set.intersection(*({each.column.value for each in some} for some in columns))
    for some in columns:
        _require_targets([each for each in some if each.column.value in both], targets)
    level = columns[0][0].column.release.level
    return apart(*columns, level=level, targets=targets, same_people=same_people)


def _chosen(file: "ReleasedFile", value: str | None) -> "list[ReleasedNumbers]":
    """Private columns of a release: all columns, or only the column with the given name."""
    from shuffledp.core.validate import invalid

    chosen = [each for each in file.columns if value in (None, each.column.value)]
    if not chosen:
        raise invalid(f"one of {', '.join(each.column.value for each in file.columns)}", value=value)
    return chosen


def _require_targets(columns: "list[ReleasedNumbers]", targets: "list[str] | tuple[()]") -> None:
    """Refuse a target that a question does not have; the error names the question."""
    from shuffledp.core.text import printable

    for each in columns:
        unknown = [target for target in targets if target not in each.estimate.target]
        if unknown:
            others = " Name the question that has it by --value." if len(columns) > 1 else ""
            raise InvalidParameterError(
                f"--target must be a row of each question compared; {each.column.value!r} has no "
                f"{printable(unknown[0])!r}.{others}"
            )


def _left_out(columns: "list[list[ReleasedNumbers]]", found: "tuple[ColumnComparisons, ...]") -> list[str]:
    """Remarks on questions that are not compared, and on targets that only one of two releases has."""
    from shuffledp.core.text import printable
    from shuffledp.documents.words import listed

    compared = {each.value for each in found}
    without = [each.column.value for each in columns[0] if each.column.value not in compared]
    remarks = [f"Not compared: {listed(list(map(printable, without)))}, where nothing fits."] if without else []
    theirs = {each.column.value: each for each in columns[-1]}
    for each in columns[0]:
        if each.column.value in compared and len(columns) == 2:
            only = sorted(set(each.targets) ^ set(theirs[each.column.value].targets))
            some = [*map(printable, only[:_MOST_NAMED]), *(["others"] if len(only) > _MOST_NAMED else [])]
            remarks += [f"In one of the releases only, and not compared: {listed(some)}."] if only else []
    return remarks


def _remarks(files: "list[ReleasedFile]", *, same_people: bool) -> list[str]:
    """Remarks on whether the releases have the same people, and on releases made with a seed."""
    claim = "That the same people are in both is claimed here, and nothing shows it." if same_people else ""
    others = ""
    if len(files) == 2 and not same_people:
        others = "They are compared as two groups of different people; of the same people say --same-people."
    seeded = "A release is a trial run, made with a seed." if any(each.seeded for each in files) else ""
    return [each for each in (claim, others, seeded) if each]


def _written(
    files: "list[ReleasedFile]", found: "tuple[ColumnComparisons, ...]", *, same_people: bool
) -> dict[str, object]:
    """The object that is printed with ``--json`` (``differences`` in docs/schema.json)."""
    import hashlib

    return {
        "releases": [
            {"name": each.name, "statement_sha256": hashlib.sha256(each.content).hexdigest()} for each in files
        ],
        "claims": ["same people"] * same_people,
        "privacy_cost": 0.0,
        "comparisons": [each.to_dict() for each in found],
    }
