"""The table ``[randomizer]``, generated from the registry of randomizers.

Its keys are the keyword arguments of the randomizer that ``kind`` names. A family (categories, numbers, vectors) adds
what only a task knows: how the private column is read, how files hold reports, which errors are to be expected.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeVar, cast

import numpy as np

from shuffledp.analyzers import FrequencyAnalyzer, MeanAnalyzer
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Analyzer, Randomizer
from shuffledp.core.guarantees import Guarantee
from shuffledp.core.local_models import FrequencyModel, ProtocolModel
from shuffledp.core.text import names_of
from shuffledp.planning.mechanism_choice import ExpectedError, expected_error
from shuffledp.planning.trusted_curator import TrustedCurator, curator_beside
from shuffledp.randomizers.families import Mechanism
from shuffledp.randomizers.inputs import Category, check_named
from shuffledp.randomizers.randomizer_kinds import keywords_of, mechanisms
from shuffledp.survey.section import Circumstances, OutOfRange, Section

if TYPE_CHECKING:
    import pyarrow as pa


MISSING_CATEGORY = "(missing)"
Family = TypeVar("Family", bound="RandomizerSection")


class RandomizerSection(Section):
    """Choice of the randomizer; ``kind`` names it in the registry, from which each subclass is generated."""

    __slots__ = ()
    tag_key: ClassVar[str] = "kind"
    title: ClassVar[str] = "[randomizer]"
    kind: ClassVar[str]
    mechanism: ClassVar[type[Mechanism]]
    renamed: ClassVar[Mapping[str, str]] = {}  # keyword arguments that are no keys, with their properties
    key: ClassVar[str] = "randomizer"  # the section's key in the task
    answers: ClassVar[str]  # kind of the private column, such as "category"
    num_columns: ClassVar[int] = 1  # private columns whose answers are randomized jointly
    needs_expected: ClassVar[bool] = False  # whether the task must say how many people are planned for
    missing_category: bool  # whether not having answered is an answer too

    @classmethod
    def members(cls) -> dict[str, type[Self]]:
        """The sections of all kinds in the registry that belong to this family, sorted by kind."""
        return members_of(cls)

    def within(self, circumstances: Circumstances) -> Self:
        """The section as part of a task, for kinds that depend on other sections."""
        del circumstances
        return self

    def randomizer(self) -> Randomizer:
        """The randomizer that runs on the device, made from the keys of the section."""
        names = keywords_of(self.mechanism)
        return self.mechanism(**{name: getattr(self, self.renamed.get(name, name)) for name in names})

    @abstractmethod
    def analyzer(self, *, level: float, columns: tuple[str, ...]) -> Analyzer[Any]:
        """The analyzer of its reports for these columns, with intervals of this coverage."""

    def expected_error(self, num_users: int) -> ExpectedError:
        """Expected errors with this number of people if all their reports arrive."""
        return expected_error(self.randomizer().model, num_users)

    @property
    @abstractmethod
    def targets(self) -> tuple[str, ...]:
        """Names of the estimates, one for each row."""

    def targets_of(self, column: str) -> tuple[str, ...]:
        """Names of the rows in a release of this private column."""
        del column
        return self.targets

    @property
    def least_people(self) -> int:
        """Fewest people for a release, whatever the task's smallest batch is."""
        return 1

    @property
    def most_people(self) -> int | None:
        """Most people for a release; None for any number."""
        return None

    @property
    def reads(self) -> str:
        """Kind of the private column: "category", "number", "vector" or "list"."""
        return self.answers

    @property
    def clips(self) -> bool:
        """Whether answers outside a range are moved to its nearer end."""
        return False

    @property
    def clipping(self) -> str:
        """A sentence about answers outside a range; "" where no answer is changed."""
        return ""

    def curator_beside(self, protocol: ProtocolModel, stated: Guarantee) -> TrustedCurator | None:
        """A trusted curator with the guarantee ``stated`` for a protocol; None without a finite loss."""
        return curator_beside(protocol, stated)

    def unit_of(self, num_users: int) -> float:
        """Factor from an average over this number of people to the unit of the estimate."""
        del num_users
        return 1.0

    def shared(self) -> dict[str, Any]:
        """Keys that another randomizer may take over from this one."""
        return {key: value for key, value in self.to_dict().items() if key != self.tag_key}

    def alternatives(self) -> "dict[str, type[RandomizerSection]]":
        """The sections of other kinds of randomizers that read the same answers, by kind."""
        return {kind: member for kind, member in self.readers().items() if kind != self.kind}

    def readers(self) -> "dict[str, type[RandomizerSection]]":
        """The sections of all randomizers that read the same answers, by kind; without this one if it is a protocol."""
        members = RandomizerSection.members().items()
        return {kind: member for kind, member in members if member.answers == self.reads}

    def instead(self, member: "type[RandomizerSection]") -> "RandomizerSection":
        """A section of another kind with the values of all keys that both have, and defaults for the rest."""
        theirs = {field.name for field in fields(cast(Any, member))}
        shared = {key: value for key, value in self.shared().items() if key in theirs}
        return member.from_dict({member.tag_key: member.kind, **shared})

    @property
    def categories_of_answers(self) -> tuple[tuple[Category, ...], ...]:
        """The categories of each private column, in the order of their numbers; empty for other answers."""
        return ()

    def named(self, reports: "pa.Table") -> "pa.Table":
        """Reports as a file holds them: categories by name, packed bits as binary strings, all else unchanged."""
        return _FORMS[self.mechanism.file_form][0](reports, self.targets)

    def numbered(self, reports: "pa.Table") -> "pa.Table":
        """Inverse of `named`; a column that `named` cannot have written becomes no valid report."""
        return _FORMS[self.mechanism.file_form][1](reports, self.targets)

    @abstractmethod
    def with_missing_category(self) -> "RandomizerSection":
        """The section with one more category, for people who did not answer."""


class FrequencySection(RandomizerSection):
    """Base of the families whose answers become categories, whose frequencies are estimated.

    ``missing_category``, that not having answered is one more category, is set by the task's ``missing = "category"``.
    """

    __slots__ = ()
    renamed: ClassVar[Mapping[str, str]] = {"domain_size": "domain_size"}

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the categories."""

    @property
    def domain_size(self) -> int:
        """Number of categories, with the one for people who did not answer."""
        return len(self.targets)

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the categories, with the one for people who did not answer."""
        return (*self.names, MISSING_CATEGORY) if self.missing_category else self.names

    def require_known_sums(self) -> None:
        """Refuse a kind whose covariances between categories are unknown, since sums of categories need them."""
        try:
            cast(FrequencyModel, self.randomizer().model).support_variance(np.zeros(self.domain_size))
        except UnsupportedModelError:
            raise InvalidParameterError(
                "kind must be another one where shares are added up, as in cross tables and histograms: how the "
                f"errors of categories go together is not worked out for {self.kind!r}; got kind={self.kind!r}."
            ) from None

    def with_missing_category(self) -> Self:
        """The section with one more category, the last, for people who did not answer."""
        return cast(Self, replace(cast(Any, self), missing_category=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoricalSection(FrequencySection):
    """Family for answers that are one of several named categories."""

    answers: ClassVar[str] = "category"
    epsilon0: float
    categories: tuple[Category, ...]
    missing_category: bool = False

    def __post_init__(self) -> None:
        check_named(self.categories, self.targets)
        self.randomizer()  # refuses, before a collection, an epsilon0 that cannot be represented

    def analyzer(self, *, level: float, columns: tuple[str, ...]) -> FrequencyAnalyzer:
        """The analyzer of the frequencies of the categories."""
        del columns
        return FrequencyAnalyzer(level=level)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the categories."""
        return names_of(self.categories)

    @property
    def categories_of_answers(self) -> tuple[tuple[Category, ...], ...]:
        """The categories of the one private column."""
        return (self.categories,)


class MeanSection(RandomizerSection):
    """Base of the families whose answers are averaged; a missing answer cannot be one more category."""

    __slots__ = ()
    missing_category = False

    def analyzer(self, *, level: float, columns: tuple[str, ...]) -> Analyzer[Any]:
        """The analyzer of the mean."""
        del columns
        return MeanAnalyzer(level=level)

    def targets_of(self, column: str) -> tuple[str, ...]:
        """The column's name; for vectors, with each coordinate in square brackets."""
        names = self.targets
        return (column,) if len(names) == 1 else tuple(f"{column}[{name}]" for name in names)

    def with_missing_category(self) -> NoReturn:
        """Refuse a category for missing answers, which a mean cannot hold."""
        raise InvalidParameterError(
            f"missing must be 'refuse' or 'drop' where answers are averaged, as by {self.kind!r}; "
            "got missing='category'."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSection(MeanSection):
    """Family for numbers in a range."""

    answers: ClassVar[str] = "number"
    renamed: ClassVar[Mapping[str, str]] = {"clip": "clips"}
    integer: ClassVar[bool] = False  # whether only whole numbers are answers
    epsilon0: float
    lower: float
    upper: float
    out_of_range: OutOfRange = OutOfRange.REFUSE

    def __post_init__(self) -> None:
        self.randomizer()  # refuses, before a collection, keys that cannot be represented

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end of the range."""
        return self.lower, self.upper

    @property
    def clips(self) -> bool:
        """Whether numbers outside the range are moved to its nearer end."""
        return self.out_of_range is OutOfRange.CLIP

    @property
    def clipping(self) -> str:
        """A sentence about numbers outside the range."""
        return f"Answers outside {self.lower:g} to {self.upper:g} count as the nearer end." if self.clips else ""

    @property
    def targets(self) -> tuple[str, ...]:
        """Name of the only row."""
        return ("value",)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSection(MeanSection):
    """Family for vectors of length 1."""

    answers: ClassVar[str] = "vector"
    epsilon0: float
    dimension: int

    def __post_init__(self) -> None:
        self.randomizer()

    @property
    def targets(self) -> tuple[str, ...]:
        """The numbers of the coordinates, as text."""
        return tuple(str(coordinate) for coordinate in range(self.dimension))


# ---- one section for each kind of the registry ----------------------------------------------------------------------

_FAMILIES: dict[str, type[RandomizerSection]] = {
    family.answers: family for family in (CategoricalSection, NumberSection, VectorSection)
}

_MADE: dict[tuple[type[RandomizerSection], str, type[Mechanism]], type[RandomizerSection]] = {}  # a class is made once


def section_of(family: type[Family], kind: str, mechanism: type[Mechanism]) -> type[Family]:
    """The section of one kind, with the keys of its family and the further parameters of its randomizer."""
    if (family, kind, mechanism) not in _MADE:
        known = {each.name for each in fields(cast(Any, family))} | set(family.renamed)
        further = [each for name, each in keywords_of(mechanism).items() if name not in known]
        _MADE[family, kind, mechanism] = family.for_kind(kind, further, mechanism=mechanism)
    return cast(type[Family], _MADE[family, kind, mechanism])


def members_of(
    base: type[Family], categorical: type[RandomizerSection] = CategoricalSection
) -> dict[str, type[Family]]:
    """The sections of all kinds in the registry that are subclasses of ``base``, each in its family.

    ``categorical`` is the family of the randomizers of categories, of which there are several.
    """
    families = _FAMILIES | {CategoricalSection.answers: categorical}
    kinds = mechanisms("randomizer").items()
    made = ((kind, section_of(families[mechanism.answers], kind, mechanism)) for kind, mechanism in kinds)
    return {kind: member for kind, member in made if issubclass(member, base)}


# ---- forms of reports in files, and the way back ---------------------------------------------------------------------


def _with_names(reports: "pa.Table", targets: tuple[str, ...]) -> "pa.Table":
    """The column ``value`` dictionary-encoded, with the categories as dictionary."""
    import pyarrow as pa

    codes = reports.column("value").combine_chunks().cast(pa.int32())
    named = pa.DictionaryArray.from_arrays(codes, pa.array(targets))
    return reports.set_column(reports.column_names.index("value"), "value", named)


def _with_numbers(reports: "pa.Table", targets: tuple[str, ...]) -> "pa.Table":
    """The column ``value`` as numbers of categories; an unknown name becomes a number out of range."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(targets)
    names = reports.column("value").cast(known.type)
    codes = pc.index_in(names, known).fill_null(len(known))
    return reports.set_column(reports.column_names.index("value"), "value", codes)


def _with_binary_strings(reports: "pa.Table", _: tuple[str, ...]) -> "pa.Table":
    """The column ``bits`` as binary strings of one width; category v is bit v % 8 of byte v // 8."""
    import pyarrow as pa

    lists = reports.column("bits").combine_chunks()
    memory = pa.py_buffer(np.ascontiguousarray(lists.flatten()))
    binary = pa.FixedSizeBinaryArray.from_buffers(pa.binary(lists.type.list_size), len(lists), [None, memory])
    return reports.set_column(reports.column_names.index("bits"), "bits", binary)


def _with_lists(reports: "pa.Table", _: tuple[str, ...]) -> "pa.Table":
    """The column ``bits`` as lists of bytes; a column of another type stays as it is, and is no valid report."""
    import pyarrow as pa

    binary = reports.column("bits").combine_chunks()
    if not pa.types.is_fixed_size_binary(binary.type) or binary.null_count:
        return reports
    width = binary.type.byte_width
    memory = np.frombuffer(binary.buffers()[1] or b"", dtype=np.uint8)
    flat = memory[binary.offset * width : (binary.offset + len(binary)) * width]
    lists = pa.FixedSizeListArray.from_arrays(pa.array(flat), width)
    return reports.set_column(reports.column_names.index("bits"), "bits", lists)


_FORMS: dict[str, tuple[Callable[["pa.Table", tuple[str, ...]], "pa.Table"], ...]] = {
    "columns": (lambda reports, _: reports,) * 2,
    "category": (_with_names, _with_numbers),
    "bits": (_with_binary_strings, _with_lists),
}
