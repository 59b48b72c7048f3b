"""Texts of first task files: one for each kind of question, with short comments and ready to plan."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from shuffledp.core.text import printable
from shuffledp.protocols.family import FirstSum, FirstTask, families
from shuffledp.survey.questions.number import RANGE
from shuffledp.survey.questions.question_kinds import QUESTIONS, question_type

Category = str | int | bool
_FIRST = "# What is asked and how it is protected: fix it before anybody is asked, and give it to all parties.\n"
_EPSILON0 = "epsilon0 = 1.0  # the loss of one answer by itself: less is more private, and less exact\n"
_DROP = 'missing = "drop"  # people without an answer are left out and counted\n'
_AFTER = '  # asked only after that answer; this block then needs missing = "category"\n'
_USUAL = "category"  # the question of all kinds of task that are not about another one
_SUM_OF_SHARES = "sum"
_SUM = FirstTask("A sum", tables='\n[shuffler]\nkind = "uniform"\n')
_NAMED = "# all possible answers, as they were fixed before anybody answered"
_READ = "# read from the answers, which tells that each was given: better name all that are possible"
_OPTIONS, _OPTIONS_NAMED = ("one", "another", "a third"), "# all that can be ticked, fixed beforehand"
_LEAST_BATCH, _OF_REGION, _REGIONS, _DELTA_DIGITS = 2, 100, 10, 6


def titles() -> dict[str, str]:
    """First words of a first task's name, for each kind of first task; kinds of questions come first."""
    questions = map(question_type, QUESTIONS)
    of_questions = {each.init_kind: each.init_title for each in questions if each.init_kind}
    return of_questions | {kind: first.title for kind, first in _by_shuffle().items()}


def columns_by_default(kind: str) -> tuple[str, ...]:
    """Default names of the public columns in a kind of first task; empty if the kind needs none."""
    return _by_shuffle()[kind].by if kind in _by_shuffle() else ()


@cache
def _by_shuffle() -> dict[str, FirstTask]:
    """Kinds of first task that are not about a type of question."""
    return {kind: first for family in families() for kind, first in family.task.first.items()} | {_SUM_OF_SHARES: _SUM}


@cache
def first_sums() -> dict[str, FirstSum]:
    """Protocols of a sum for a first task, by kind; the first is the usual one."""
    return {kind: each for family in families() for kind, each in family.task.sums().items()}


def usual_sum() -> str:
    """Kind of protocol for a sum in a first task file, if no kind is named."""
    return next(iter(first_sums()))


def kinds_of_one_column() -> tuple[str, ...]:
    """Kinds of questions about one column, which a task may combine with other questions."""
    questions = map(question_type, QUESTIONS)
    return tuple(each.init_kind for each in questions if each.init_kind and each.num_columns == 1)


def form_of(kind: str, *, many_numbers: bool = False) -> str:
    """Form of the answers in a first task of this kind; ``many_numbers`` replaces the usual form by bins.

    Example:
        >>> form_of("histogram"), form_of("regions"), form_of("regions", many_numbers=True)
        ('bin', 'category', 'bin')
    """
    if kind == _SUM_OF_SHARES:
        return kind
    types = {name: question_type(name) for name in QUESTIONS}
    form = next((name for name, each in types.items() if each.init_kind == kind), _USUAL)
    if form == _USUAL and many_numbers:
        return next(name for name, each in types.items() if each.fits_many_numbers)
    return form


def lists_options(form: str) -> bool:
    """Whether a first task of this form lists options to tick, outside the question's own table.

    Example:
        >>> lists_options("multi-select"), lists_options("category")
        (True, False)
    """
    return form != _SUM_OF_SHARES and "$options" in question_type(form).head


def columns_and_lists(form: str) -> tuple[int, int]:
    """Number of private columns and number of lists of categories in one question of this form.

    Example:
        >>> columns_and_lists("pair"), columns_and_lists("bin")
        ((2, 2), (1, 0))
    """
    if form == _SUM_OF_SHARES:
        return 1, 0
    question = question_type(form)
    return question.num_columns, question.num_lists


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstQuestion:
    """A question of a first task file.

    Args:
        columns: its private column, or two that are randomized jointly.
        form: the question's name in the registry of questions, or "sum" for a protocol.
        categories: the answers of each column, where they are named; of ticks, the options.
        read: whether they were read from answers, which a comment then says.
        alike: categories that differ by case alone, which a comment then names.
        integer: of a sum, whether answers are whole numbers.
        protocol: of a sum, one of `first_sums`.
        dimension: of a sum of lists, numbers in each.
    """

    columns: tuple[str, ...]
    form: str
    categories: tuple[tuple[Category, ...], ...] = ()
    read: bool = False
    alike: tuple[tuple[str, ...], ...] = ()
    integer: bool = True
    protocol: str = field(default_factory=usual_sum)
    dimension: int = 10

    @property
    def key(self) -> str:
        """The table of the task file that holds the randomizer or protocol."""
        return "protocol" if self.form == _SUM_OF_SHARES else "randomizer"

    @property
    def has_options(self) -> bool:
        """Whether the question has a list of options to tick, outside the question's own table."""
        return lists_options(self.form)

    @property
    def of_lists(self) -> bool:
        """Whether the question is a sum of lists; their largest length is not read from a table of answers."""
        return self.form == _SUM_OF_SHARES and first_sums()[self.protocol].of_lists

    @property
    def has_range(self) -> bool:
        """Whether the question's table has a range of numbers, which is not read from answers."""
        return RANGE in self.table()

    def named(self, key: str) -> str:
        """Line that names the question's one or two columns, and the lines that stand outside its table."""
        head = "" if self.form == _SUM_OF_SHARES else question_type(self.form).head
        if self.has_options:
            (options,) = self.categories or (_OPTIONS,)
            comment = _READ if self.read else _OPTIONS_NAMED
            head = head.replace("$options", f"{_toml(options)}  {comment}")
        if len(self.columns) > 1:
            jointly = "# the private columns in the table of answers, randomized jointly"
            return f"columns = {_toml(self.columns)}  {jointly}\n{head}"
        return f"{key} = {_toml(self.columns[0])}  # the private column in the table of answers\n{head}"

    def table(self) -> str:
        """The lines of the question's table."""
        if self.form == _SUM_OF_SHARES:
            whole = "true  # answers are whole numbers" if self.integer else "false  # answers have decimals"
            return (
                first_sums()[self.protocol].table.replace("$integer", whole).replace("$dimension", str(self.dimension))
            )
        lines = question_type(self.form).template.replace("$epsilon0", _EPSILON0)
        if not self.categories or self.has_options:
            return lines
        lines += f"{_READ if self.read else _NAMED}\n"
        for names in self.alike:
            lines += (
                f"# alike but for their case, and yet different answers: {printable(', '.join(map(repr, names)))}\n"
            )
        categories = [list(each) for each in self.categories]
        return f"{lines}categories = {_toml(categories if len(categories) > 1 else categories[0])}\n"


def task_text(
    kind: str,
    asked: Sequence[FirstQuestion],
    *,
    people: int,
    by: Sequence[str] = (),
    most_batch: int | None = None,
    missing_values: Sequence[str] = (),
    strip: bool = False,
) -> str:
    """A task file of a kind, as text for people to edit.

    Args:
        kind: one of `titles`.
        asked: the questions, one or more.
        people: how many will take part, 2 or more.
        by: the public columns that the kind works by, if it does; none are `columns_by_default`.
        most_batch: people of the smallest region of a table that was given, or all that answered; None is unknown.
        missing_values: texts that mean "did not answer", beside the empty one.
        strip: whether the blanks around answers are taken off.
    """
    first = _by_shuffle().get(kind, FirstTask(""))
    public = tuple(by) or first.by
    place = _toml(list(public) if len(first.by) > 1 else "".join(public[:1]))
    together = " and ".join(name for each in asked for name in each.columns)
    head = f"{_FIRST}name = {_toml(printable(f'{titles()[kind]}: {together}'))}\n"
    question = '# question = "what people read, where they answer on a page"\n'
    questions = ""
    if len(asked) == 1:
        head += asked[0].named("value") + question
        questions = f"\n[{asked[0].key}]\n{asked[0].table()}"
    for number, each in enumerate(asked if len(asked) > 1 else ()):
        beside = f"{each.named('column')}{question}{_after(each, asked[0]) if number else ''}"
        questions += f"\n[[value]]\n{beside}\n[value.{each.key}]\n{each.table()}"
    head += first.head.replace("$by", place) + _DROP
    if missing_values:
        head += f"missing_values = {_toml(['', *missing_values])}  # texts that mean that somebody did not answer\n"
    if strip:
        head += "strip = true  # the blanks around texts in the table are taken off\n"
    shuffled = first.tables.replace("$by", place)
    return f"{head}{_people(people)}{questions}{shuffled}{_release(people, most_batch, in_batches=first.in_batches)}"


def _after(asked: FirstQuestion, first: FirstQuestion) -> str:
    """Commented-out key ``after``, by which a question would depend on the first one; "" if impossible."""
    if asked.form == first.form or first.form != _USUAL or not question_type(asked.form).may_follow:
        return ""
    return f"# after = {_toml(f'{first.columns[0]} = {first.categories[0][-1]}')}{_AFTER}"


def _people(people: int) -> str:
    return (
        f"\n[people]\nexpected = {people}  # how many will take part\n"
        '# id = "person"  # a column that names people: then nobody can answer twice\n'
    )


def _release(people: int, most_batch: int | None, *, in_batches: bool) -> str:
    """Last table of a task file, with delta and a smallest batch, mostly half of the people.

    In batches it is half of ``most_batch``; if that is unknown, a tenth of the people, or fewer.
    """
    least = -(-min(people, most_batch or people) // 2)
    if in_batches and most_batch is None:
        least = min(_OF_REGION, people // _REGIONS)
    least = max(_LEAST_BATCH, least)
    return f"""
[release]
delta = 1e-{max(_DELTA_DIGITS, len(str(people)) + 1)}  # the remainder: far below one in the number of people
minimum_batch = {least}  # with fewer answers nothing is released, and all are lost
# contact = "who releases it, and where to ask"
"""


def _toml(value: str | Sequence[object]) -> str:
    """Text or list as TOML: JSON in which the control character DEL is escaped, too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
