"""Family of protocols as one value: its entries in the kernel's registries.

A door is a function that loads what it names when it is asked for, so that a family costs nothing until somebody uses
it. A folder of this package holds a module ``family`` with one value ``FAMILY``; a line in ``FAMILIES`` registers it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, TypeVar, overload

from shuffledp import protocols
from shuffledp.core.flow import Shuffler
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statements import PrivacyStatement

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NamedShuffle:
    """Shuffle model made without a task, from the number of people and at most one more number.

    Args:
        model: the model of the number of people, and of that number.
        number: what the number is called; "" if there is none.
    """

    model: Callable[..., ShuffleModel]
    number: str = ""


@dataclass(frozen=True, slots=True)
class ShufflerKind:
    """Kind of shuffler: its constructor and its entries for task files.

    Args:
        find: finds what makes the shuffler of some keyword arguments.
        section: finds the base of its table in a task file, or the table itself; None if it needs nothing but reports.
        about: what it is about that the run brings along: "groups" of people, a "graph" of them, or nothing.
        keeps_public: whether labels are people or their slots, so that what is public of them stays beside reports.
        check: finds what refuses keyword arguments that do not go together, while what it is about is not known yet.
        without: keyword arguments that are no keys of a task file.
        best_for: when to choose it, in a few words.
        described: by which names ``--shuffler`` knows it; by none if only a task says all that it needs.
    """

    find: Callable[[], Callable[..., Shuffler]]
    about: str = ""
    keeps_public: bool = False
    check: Callable[[], Callable[..., None]] | None = None
    without: tuple[str, ...] = ()
    best_for: str = ""
    described: Mapping[str, NamedShuffle] = field(default_factory=dict)
    section: Callable[[], type[Any]] | None = None

    @property
    def make(self) -> Callable[..., Shuffler]:
        """Constructor of the shuffler, by keyword arguments."""
        return self.find()


@dataclass(frozen=True, slots=True)
class FirstTask:
    """Kind of first task file that shows a way of shuffling answers instead of a type of question.

    Args:
        title: start of the names of its tasks.
        by: names of the public columns that it works by, where none are given; () if it works by none.
        head: lines at the top, in which ``$by`` stands for these columns.
        tables: tables after the questions, in which ``$by`` stands for these columns.
        in_batches: whether the people of each entry of the public column are shuffled by themselves.
    """

    title: str
    by: tuple[str, ...] = ()
    head: str = ""
    tables: str = ""
    in_batches: bool = False


@dataclass(frozen=True, slots=True)
class FirstSum:
    """Protocol of a sum in a first task file.

    Args:
        table: lines of its table, in which ``$integer`` and ``$dimension`` stand for the answers.
        about: what speaks for it, in a few words.
        of_lists: whether lists of numbers are added up.
    """

    table: str
    about: str
    of_lists: bool = False


@dataclass(frozen=True, slots=True)
class TaskPart:
    """Keys and tables that a family adds to a task file.

    Args:
        keys: top-level keys that say what its shuffles are about.
        section: makes, of the section of the shuffler and these keys with their values, the section of the task.
        tables: finds the section of each table that may stand in place of ``[randomizer]``.
        batches: makes the shuffler of several batches of these sizes, each shuffled by itself.
        first: kinds of first task file, by the name that `init` knows them by.
        sums: finds the protocols of a sum in a first task file, by kind, the usual one first.
    """

    keys: tuple[str, ...] = ()
    section: Callable[[Any, Mapping[str, Any]], Any] = lambda section, _: section
    tables: Mapping[str, Callable[[], type[Any]]] = field(default_factory=dict)
    batches: Callable[[Sequence[int]], Shuffler] | None = None
    first: Mapping[str, FirstTask] = field(default_factory=dict)
    sums: Callable[[], Mapping[str, FirstSum]] = dict


@dataclass(frozen=True, slots=True)
class FurtherStatements:
    """Statements of a family beside differential privacy.

    Args:
        statement: states what a protocol guarantees in the family's own words, or nothing.
        of_reports: states what a person's reports alone guarantee about the order inside groups, or nothing.
        together: promises about equal groups, of releases planned beforehand, at a remainder: sizes of the smallest and
            the largest group of about one size, and the alpha of these; or nothing.
    """

    statement: Callable[[ProtocolModel], PrivacyStatement | None] | None = None
    of_reports: Callable[..., PrivacyStatement | None] | None = None
    together: Callable[..., tuple[tuple[int, int, float], ...]] | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """Entries of a family of protocols in the kernel's registries, each empty by default.

    Args:
        name: the folder.
        shufflers: its kinds of shuffler, as task files call them.
        task: what it adds to the task file.
        choices: kinds that a task file alone may name, and that choose one of its shufflers by what the task says.
        randomizers: finds the class of each kind of randomizer, as task files call them.
        theorems: finds its theorems, by the id of the kernel's theorem that they follow in the registry; "" is the end.
            Of equal bounds the first in the registry is stated.
        theorems_over: makes further theorems of the registry's theorems about shuffles, of which they apply the best.
        calibrations: finds what `shuffledp.planning.calibrate` solves for parameters of its own, by the names there.
        games: finds its distinguishing games, special ones first; an audit plays the first that suits, and a family's
            before the kernel's.
        files: finds the `FamilyFiles` of its tasks: what their shuffles are about, from files.
        document: finds the `FamilyDocument` of its tasks: what they add to the pages of plans and releases.
        beside: what it guarantees beside differential privacy.
    """

    name: str
    shufflers: Mapping[str, ShufflerKind] = field(default_factory=dict)
    task: TaskPart = field(default_factory=TaskPart)
    choices: Mapping[str, ShufflerKind] = field(default_factory=dict)
    randomizers: Mapping[str, Callable[[], type[Any]]] = field(default_factory=dict)
    theorems: Mapping[str, Callable[[], tuple[Any, ...]]] = field(default_factory=dict)
    theorems_over: Callable[[Sequence[Any]], tuple[Any, ...]] | None = None
    calibrations: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    games: Callable[[], tuple[type[Any], ...]] = tuple
    files: Callable[[], type[Any]] | None = None
    document: Callable[[], type[Any]] | None = None
    beside: FurtherStatements = field(default_factory=FurtherStatements)


def families() -> tuple[Family, ...]:
    """Families of protocols, in the order of ``FAMILIES``."""
    return tuple(import_module(f"{protocols.__name__}.{name}.family").FAMILY for name in protocols.FAMILIES)


def family_of(kind: str, section: object = None) -> Family | None:
    """Family that lists the ``kind`` or defines the class of ``section``; None for the kernel's own."""

    def has(family: Family) -> bool:
        listed = {**family.shufflers, **family.choices, **family.randomizers}
        return kind in listed or type(section).__module__.startswith(f"{protocols.__name__}.{family.name}.")

    return next(filter(has, families()), None)


class LazySequence(Sequence[T]):
    """Ordered registry filled at first use, so that entries may import the registry's module."""

    def __init__(self, fill: Callable[[], Iterable[T]]) -> None:
        self._fill = fill

    @cached_property
    def _entries(self) -> tuple[T, ...]:
        return tuple(self._fill())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)


class LazyMapping(MutableMapping[str, T]):
    """Registry by name, filled at first use, so that entries may import the registry's module."""

    def __init__(self, fill: Callable[[], Mapping[str, T]]) -> None:
        self._fill = fill

    @cached_property
    def _entries(self) -> dict[str, T]:
        return dict(self._fill())

    def __getitem__(self, name: str) -> T:
        return self._entries[name]

    def __setitem__(self, name: str, entry: T) -> None:
        self._entries[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return repr(self._entries)
