"""The command that writes a first task file: `init`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.options import Force, show_document, whole
from shuffledp.core.errors import InputDataError, InvalidParameterError, MissingColumnError, ShuffleDPError

if TYPE_CHECKING:
    from shuffledp.files.answer_inspection import ColumnContent
    from shuffledp.survey import Task
    from shuffledp.survey.task_templates import FirstQuestion

_PEOPLE = 1000
_NO_ANSWERS_YET = (
    "If nobody has answered yet, leave the table out of init, name the private column by --value and the people by "
    "--users: a table of public columns alone is for plan (--input)."
)


_KINDS = "<survey|histogram|cross|mean|words|ticks|groups|places|regions|walk|sum>"  # as the help shows them
_TIMES = {1: "once", 2: "twice"}


def _known_kind(typed: str) -> str:
    """A kind of first task file; any other text is refused with a list of the kinds."""
    from shuffledp.survey.task_templates import titles

    if typed not in (known := titles()):
        raise typer.BadParameter(f"{typed!r} is not one of {', '.join(map(repr, known))}.")
    return typed


@dataclass(frozen=True, slots=True)
class _InitOptions:
    """Options of `init`: kind (None: chosen by the columns), private and public columns, categories, people.

    Each of the private columns has a kind of its own, which is ``kind`` where none stands behind its name.
    """

    kind: str | None
    values: tuple[str, ...]
    kinds: tuple[str | None, ...]
    by: tuple[str, ...]
    categories: tuple[str, ...] | None
    users: int | None
    protocol: str

    @property
    def title(self) -> str:
        """Template's name: the kind of the only private column, else the option ``kind``, else "survey"."""
        return (self.kinds[0] if len(self.kinds) == 1 else self.kind) or "survey"

    def kind_of(self, column: str) -> str | None:
        """Kind of a private column."""
        return dict(zip(self.values, self.kinds, strict=True)).get(column, self.kind)

    @property
    def public(self) -> tuple[str, ...]:
        """The public columns that the kind needs."""
        from shuffledp.survey.task_templates import columns_by_default

        return self.by or columns_by_default(self.title)

    def check(self, table: Path | None) -> None:
        """Refuse options that do not fit together."""
        from shuffledp.core.validate import integer_at_least
        from shuffledp.survey.task_templates import columns_and_lists, columns_by_default, form_of, lists_options

        kind, most = self.title, len(columns_by_default(self.title))
        num_columns, num_lists = columns_and_lists(form_of(kind))
        named = 1 if lists_options(form_of(kind)) else num_lists
        if self.categories is not None and (named != 1 or len(self.values) > 1):
            what = f"for kind {kind!r}" if named != 1 else "beside several --value"
            raise InvalidParameterError(f"--categories must be left out {what}: it is the answers to one question.")
        if table is not None and not self.values:
            raise InvalidParameterError(
                f"--value COLUMN must be given beside a table of answers: the private column. {_NO_ANSWERS_YET}"
            )
        if num_columns == 2 and len(self.values) not in (0, 2):
            raise InvalidParameterError(f"--value must be given twice for kind {kind!r}, the table of two columns.")
        if kind == "sum" and len(self.values) > 1:
            raise InvalidParameterError("--value must be given once for kind 'sum'.")
        if len(set(self.values)) != len(self.values):
            raise InvalidParameterError("--value must be given once for each private column; one is given twice.")
        if self.by and len(self.by) != most:
            allowed = f"given {_TIMES[most]}" if most else "left out"
            several = (
                " People who are near in several columns, such as age and years: give one of them, and write columns = "
                '["age", "years"] and a radius in place of column in [groups], and both in public.'
            ) * (kind == "groups")
            raise InvalidParameterError(f"--by must be {allowed} for kind {kind!r}.{several}")
        if self.users is not None:
            integer_at_least(2, users=self.users)  # a batch of one hides nobody

    def asked(self, found: "Sequence[ColumnContent]") -> "list[FirstQuestion]":
        """The questions of the task, from the content of a table if there is one."""
        from shuffledp.survey.task_templates import FirstQuestion, columns_and_lists, form_of

        form = form_of(self.title)
        num_columns = columns_and_lists(form)[0]
        if not found:
            of_pair = self.values or ("first", "second")
            columns = [of_pair] if num_columns == 2 else [(name,) for name in self.values or ("answer",)]
            return [self._unseen(each) for each in columns]
        if num_columns == 2:
            both, alike = tuple(each.categories() for each in found), tuple(each for one in found for each in one.alike)
            return [FirstQuestion(columns=self.values, form=form, categories=both, read=True, alike=alike)]
        return [self._asked_of(each) for each in found]

    def _unseen(self, columns: tuple[str, ...]) -> "FirstQuestion":
        """Question for private columns that are known only by name."""
        from shuffledp.survey.task_templates import FirstQuestion, columns_and_lists, form_of

        form = form_of(self.kind_of(columns[0]) or self.title)
        lists = (self.categories or ("No", "Yes"),) * columns_and_lists(form)[1]
        lists = lists or tuple(filter(None, [self.categories]))
        return FirstQuestion(columns=columns, form=form, categories=lists, protocol=self.protocol)

    def _asked_of(self, found: "ColumnContent") -> "FirstQuestion":
        """The question for a column of a table."""
        from shuffledp.survey.task_templates import FirstQuestion, columns_and_lists, form_of

        kind = self.kind_of(found.column)
        is_open = kind != "survey" and self.categories is None
        form = form_of(kind or self.title, many_numbers=is_open and found.wants_bins)
        question = FirstQuestion(columns=(found.column,), form=form, integer=found.is_whole, protocol=self.protocol)
        if found.length:
            question = replace(question, dimension=found.length)
        if not columns_and_lists(form)[1] and not question.has_options:
            return question
        if self.categories is not None:
            return replace(question, categories=(self.categories,))
        if question.has_options:
            return replace(question, categories=(found.options(),), read=True)
        return replace(question, categories=(found.categories(),), read=True, alike=found.alike)


def _with_kinds(values: "Sequence[str]", kind: str | None) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    """Names of private columns with their kinds, from NAME:KIND or from the kind given for all."""
    from shuffledp.survey.task_templates import kinds_of_one_column

    parts, known = [each.rpartition(":") for each in values], kinds_of_one_column()
    own = [bool(name) and last in known for name, _, last in parts]
    if any(own) and kind is not None:
        raise InvalidParameterError("--kind must be left out where a kind stands behind the name of a --value.")
    names = tuple(name if has else each for has, (name, _, _), each in zip(own, parts, values, strict=True))
    return names, tuple(last if has else kind for has, (_, _, last) in zip(own, parts, strict=True))


def _sum_for(kind: str | None, chosen: str | None, *, of_lists: bool = False) -> str:
    """Protocol of a sum: chosen by an option, by lists as answers, at a terminal, or by default."""
    from shuffledp.survey.task_templates import first_sums, usual_sum

    known, usual = first_sums(), usual_sum()
    if chosen is not None and kind != "sum":
        raise InvalidParameterError("--sum must be left out for another kind than 'sum'.")
    if kind == "sum" and chosen is None and of_lists:
        return next(name for name, each in known.items() if each.of_lists)
    if kind == "sum" and chosen is None and sys.stdin.isatty() and sys.stderr.isatty():
        about = " ".join(f"{name}: {each.about}." for name, each in known.items())
        chosen = str(typer.prompt(f"{about}\nWhich sum", default=usual, err=True)).strip()
    if chosen is not None and chosen not in known:
        raise InvalidParameterError(f"--sum must be one of {', '.join(known)}; got {chosen!r}.")
    return chosen or usual


def init(
    answers: Annotated[
        Path | None,
        typer.Argument(metavar="[answers.csv]", readable=False, help="A table of answers, to look at its columns."),
    ] = None,
    *,
    output: Annotated[Path, typer.Option(help="The task file to write.")],
    kind: Annotated[
        str | None,
        typer.Option(
            parser=_known_kind,
            metavar=_KINDS,
            help="survey: shares of answers. histogram: of numbers in bins. cross: of two columns. mean: of numbers. "
            "words: frequent ones of open answers. groups, places, regions: shares by a public column. walk: without a "
            "shuffler. sum: exact, but for some noise. If left out, survey, or for a column of many numbers histogram.",
        ),
    ] = None,
    sum_by: Annotated[
        str | None,
        typer.Option(
            "--sum",
            metavar="<split-and-mix|counted-bits|vector-sum>",
            help="How to sum: with the least error, so that few liars move it little, or of lists. If left out, of "
            "lists where there are lists; else a terminal asks.",
        ),
    ] = None,
    value: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN[:KIND]",
            help="A private column; needed for a table. Once for each question, with its own kind as in pets:ticks.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="The public column of regions or groups; of places both of them."),
    ] = None,
    categories: Annotated[
        str | None,
        typer.Option(metavar="No,Yes", help="All possible answers; without them those in the table are taken."),
    ] = None,
    users: Annotated[int | None, whole("How many people will take part; the rows of the table if left out.")] = None,
    force: Force = False,
) -> None:
    """Write a task file to begin with, a comment beside each line.

    Every task that is written can be planned at once: `shuffledp plan TASK.toml`. One made from a table runs on it.
    """
    from shuffledp.documents.flow_document import written_task
    from shuffledp.files.writing import new_file
    from shuffledp.survey.task_templates import usual_sum

    named = None if categories is None else tuple(each.strip() for each in categories.split(","))
    wanted = _InitOptions(kind, *_with_kinds(value or (), kind), tuple(by or ()), named, users, usual_sum())
    wanted.check(answers)
    found = () if answers is None else _content(answers, wanted)
    protocol = _sum_for(kind, sum_by, of_lists=any(each.length for each in found))
    asked = (wanted := replace(wanted, protocol=protocol)).asked(found)
    with new_file(output, force=force, is_ours=_is_task) as file:
        _write(file, wanted, asked, found, answers)
    show_document(lambda: written_task(str(output), needs_table=wanted.kind in ("places", "groups")))
    _note(output, wanted, asked, found)


def _content(answers: Path, wanted: _InitOptions) -> "tuple[ColumnContent, ...]":
    """Content of the private columns of a table; the error about a lacking one says what to do without answers."""
    from shuffledp.files.answer_inspection import inspected_columns

    try:
        return inspected_columns(answers, wanted.values, beside=wanted.public)
    except MissingColumnError as error:
        raise MissingColumnError(f"{error} {_NO_ANSWERS_YET}") from None


def _note(
    output: Path, wanted: _InitOptions, asked: "Sequence[FirstQuestion]", found: "Sequence[ColumnContent]"
) -> None:
    """Write notes to standard error: facts read from the table, and values still to be set."""
    from shuffledp.documents.flow_document import (
        categories_were_read,
        lists_as_categories,
        looked_alike,
        norm_to_set,
        put_into_bins,
        range_to_set,
    )
    from shuffledp.survey.task_templates import columns_and_lists, form_of

    ranged = [each.columns[0] for each in asked if found and each.has_range]
    of_categories = {
        name for name in ranged if columns_and_lists(form_of(wanted.kind_of(name) or wanted.title))[1] == 1
    }
    notes = [(put_into_bins if name in of_categories else range_to_set)(name) for name in ranged]
    notes += [norm_to_set(each.columns[0]) for each in asked if found and each.of_lists]
    lists = {each.column for each in found if each.is_listed}
    chosen = [name for each in asked if each.read and not each.has_options for name in each.columns]
    notes += [lists_as_categories(name) for name in chosen if name in lists]
    notes += [looked_alike(names) for each in asked for names in each.alike]
    if any(each.read for each in asked):
        notes.append(f"WARNING: {categories_were_read(str(output))}")
    sys.stderr.write("".join(f"shuffledp: {note}\n" for note in notes))


def _write(
    file: Path,
    wanted: _InitOptions,
    asked: "Sequence[FirstQuestion]",
    found: "Sequence[ColumnContent]",
    answers: Path | None,
) -> None:
    """Write the task file; people and smallest batch fit the table, if one is given without ``--users``."""
    from shuffledp.files.answer_inspection import fewest_people_in
    from shuffledp.survey.task_templates import task_text

    rows = found[0].rows if found else _PEOPLE
    unanswered = sorted({text for each in found for text in each.unanswered if text not in (wanted.categories or ())})
    strip = any(each.padded for each in found)

    def write(people: int, most_batch: int | None) -> "Task":
        text = task_text(
            wanted.title,
            asked,
            people=people,
            by=wanted.by,
            most_batch=most_batch,
            missing_values=unanswered,
            strip=strip,
        )
        file.write_text(text, encoding="utf-8")
        return _checked(file, [each for each in asked if each.read])

    people = rows if wanted.users is None else wanted.users
    if answers is None:
        write(people, None)
        return
    fit = fewest_people_in(write(max(rows, people), 1), answers)
    if fit.people < 2:
        raise InputDataError(
            f"{answers} must hold two answers or more in each column that is named by --value; one has fewer."
        )
    if wanted.users is None:
        write(fit.people if wanted.kind == "sum" else rows, fit.of_region)
    else:
        write(people, None)


def _checked(file: Path, read: "Sequence[FirstQuestion]") -> "Task":
    """The task in a file; an error about categories ``read`` from a column does not show them."""
    from shuffledp.survey import Task

    try:
        return Task.read(file)
    except InvalidParameterError:
        if not read:
            raise
    names = ", ".join(repr(name) for each in read for name in each.columns)
    raise InputDataError(
        f"column {names} must hold answers that can be categories: texts without control characters, whole numbers, "
        "or true and false; name them by --categories."
    )


def _is_task(file: Path) -> bool:
    """Whether a file is a task, which may be replaced."""
    from shuffledp.survey import Task

    try:
        Task.read(file)
    except ShuffleDPError:
        return False
    return True
