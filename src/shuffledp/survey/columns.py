"""A private column with all that its task fixes: how it is randomized, shuffled and released."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Self

from shuffledp.core import validate
from shuffledp.core.described import Described, canonical_json, without_none
from shuffledp.core.errors import BatchTooSmallError, InputDataError, InvalidParameterError
from shuffledp.core.flow import Shuffler
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import names_of, printable
from shuffledp.core.validate import invalid, one_line
from shuffledp.pipeline import Pipeline
from shuffledp.planning.trusted_curator import TrustedCurator
from shuffledp.survey.follow_up import FollowUp
from shuffledp.survey.questions.question import Question
from shuffledp.survey.questions.question_kinds import as_written, with_question
from shuffledp.survey.section import (
    Circumstances,
    Section,
    as_columns,
    joint_name,
    named_jointly,
    require_sha256,
    some_text,
)
from shuffledp.survey.shuffler_section import KEYS, ShufflerSection, uniform_section, with_shuffler

_LANGUAGE = re.compile("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")  # a tag of BCP 47


class Missing(StrEnum):
    """Treatment of people who did not answer."""

    REFUSE = "refuse"
    DROP = "drop"
    CATEGORY = "category"


class Compared(StrEnum):
    """Kinds of comparisons inside a release: of options, of regions, or of two answers for independence."""

    OPTIONS = "options"
    REGIONS = "regions"
    INDEPENDENCE = "independence"

    @property
    def needed(self) -> str:
        """Parts of a task that this kind of comparison needs, in words."""
        return {
            Compared.OPTIONS: "a choice or ticks with two or more options (bins, words and numbers have none)",
            Compared.REGIONS: "the key by, which makes regions, for a question that is asked in strata",
            Compared.INDEPENDENCE: "two columns that are randomized jointly",
        }[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleSection(Section):
    """People who take part; earlier tasks about the same people are named by their SHA-256.

    The ``household`` is how many people may live together, or the column that says who does, which `plan` reads.
    """

    title: ClassVar[str] = "[people]"
    id: str | None = None
    expected: int | None = None
    earlier: tuple[str, ...] = ()
    fakes: int = 0
    unvouched: bool = False
    household: int | str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.household, str):
            some_text(household=self.household)
        elif self.household is not None:
            validate.integer_at_least(2, household=self.household)
        if self.id is not None:
            some_text(id=self.id)
        if self.expected is not None:
            validate.integer_at_least(1, expected=self.expected)
        validate.integer_at_least(0, fakes=self.fakes)
        if self.unvouched and self.fakes:
            raise invalid("0 with unvouched, where all but one may be fake", fakes=self.fakes)
        if self.expected is not None and self.fakes >= self.expected:
            raise invalid(f"below expected={self.expected}", fakes=self.fakes)
        for sha256 in self.earlier:
            require_sha256(earlier=sha256)
        if len(set(self.earlier)) != len(self.earlier):
            raise invalid("all different", earlier=list(self.earlier))

    def to_dict(self) -> dict[str, Any]:
        """All keys of the table; ``fakes``, ``unvouched`` and ``household`` only if they are set."""
        table = super(PeopleSection, self).to_dict()
        return {key: value for key, value in table.items() if value or key not in ("fakes", "unvouched", "household")}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSection(Section):
    """Parameters of the release: remainder delta, coverage ``level``, smallest batch, and who releases."""

    title: ClassVar[str] = "[release]"
    delta: float
    minimum_batch: int = 1
    level: float = 0.95
    contact: str | None = None
    compare: tuple[Compared, ...] = ()

    def __post_init__(self) -> None:
        validate.open_probability(delta=self.delta, level=self.level)
        if len(set(self.compare)) != len(self.compare):
            raise invalid("all different", compare=", ".join(self.compare))
        validate.integer_at_least(1, minimum_batch=self.minimum_batch)
        if self.contact is not None:
            one_line(contact=self.contact)

    def to_dict(self) -> dict[str, Any]:
        """All keys of the table; ``contact`` and ``compare`` only if they are set."""
        table = without_none(super(ReleaseSection, self).to_dict(), "contact")
        return {key: value for key, value in table.items() if value or key != "compare"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Described):
    """A private column with everything that its task fixes.

    ``part_of`` is the SHA-256 of a task with several columns.

    Two ``columns`` whose answers are randomized jointly count as one, whose ``value`` is both their names.

    Raises:
        InvalidParameterError: if the private column is also a public one or the people's id, a column is repeated, a
            category is also a text that means "did not answer", or the groups do not fit the rest.

    Example:
        >>> column = Column.from_dict({
        ...     "name": "survey", "value": "cheated",
        ...     "randomizer": {"kind": "k-rr", "epsilon0": 2.0, "categories": ["No", "Yes"]},
        ...     "release": {"delta": 1e-6},
        ... })
        >>> column.shuffler.kind, len(column.sha256)
        ('uniform', 64)
    """

    title: ClassVar[str] = "the task"
    further: ClassVar[tuple[str, ...]] = KEYS
    name: str
    value: str
    columns: tuple[str, ...] = ()
    question: str | None = None
    language: str | None = None
    public: tuple[str, ...] = ()
    missing: Missing = Missing.REFUSE
    missing_values: tuple[str, ...] = ("",)
    strip: bool = False
    after: FollowUp | None = None
    people: PeopleSection = field(default_factory=PeopleSection)
    randomizer: Question
    shuffler: ShufflerSection = field(default_factory=uniform_section)
    release: ReleaseSection
    part_of: str | None = None

    def __post_init__(self) -> None:
        one_line(name=self.name)
        for column in self.inputs:
            some_text(value=column)
        check_wording(self.question, self.language)
        require_sha256(part_of=self.part_of)
        for column in self.public:
            some_text(public=column)
        for text in filter(None, self.missing_values):
            some_text(missing_values=text)
        named = [*self.read_from, *self.public, *([self.people.id] if self.people.id else [])]
        if len(set(named)) != len(named):
            raise invalid("different columns for value, public and people.id", columns=", ".join(named))
        if self.people.household in named:
            raise invalid("a column of its own, which is never released", household=self.people.household)
        self._check_columns()
        self.shuffler.check(self)
        answers = [name for each in self.randomizer.categories_of_answers for name in names_of(each)]
        both = sorted(set(self.missing_values).intersection(answers))
        if both:
            raise invalid("texts that are no categories", missing_values=", ".join(both))
        here = Circumstances(
            num_users=self.people.expected,
            imperfection=self.shuffler.gamma,
            delta=self.release.delta,
            shuffler=self.shuffler.kind,
            minimum_batch=self.release.minimum_batch,
            in_strata=self.shuffler.needs_strata,
        )
        object.__setattr__(self, "randomizer", self.randomizer.within(here))
        self._check_fakes()
        if self.missing is Missing.CATEGORY:
            object.__setattr__(self, "randomizer", self.randomizer.with_missing_category())
        elif self.randomizer.missing_category:
            raise invalid("category where the randomizer has missing_category", missing=self.missing.value)
        if self.after is not None:
            self.after.check(self)
            object.__setattr__(self, "randomizer", self.randomizer.as_follow_up())
        elif self.randomizer.follow_up:
            raise InvalidParameterError('follow_up must be left out: after = "question = answer" sets it; got true.')

    @property
    def comparable(self) -> tuple[Compared, ...]:
        """Kinds of comparisons inside a release that fit the column."""
        fits = {
            Compared.OPTIONS: len(self.randomizer.offered) > 1,
            Compared.REGIONS: "by" in self.shuffler.beside,
            Compared.INDEPENDENCE: self.randomizer.num_columns == 2,
        }
        return tuple(kind for kind, does in fits.items() if does)

    def _check_columns(self) -> None:
        """Require the number of private columns that the randomizer takes."""
        if self.columns and self.value != joint_name(self.columns):
            raise invalid(f"{joint_name(self.columns)!r}, both names", value=self.value)
        self.randomizer.require_columns(self.inputs)
        if self.randomizer.needs_uniform and not (self.shuffler.is_uniform or self.shuffler.kind == "none"):
            raise InvalidParameterError(
                f"[shuffler] must shuffle everybody uniformly, without by or weight, or be of kind 'none', for answers "
                f"of kind {self.randomizer.answers!r}; got kind={self.shuffler.kind!r}."
            )

    def _check_fakes(self) -> None:
        """Refuse too many fake people: each release needs honest people, enough for the protocol's noise."""
        fakes, least = self.people.fakes, self.release.minimum_batch
        is_plain = self.shuffler.is_uniform and self.randomizer.randomizer().model.num_messages == 1
        if self.people.unvouched and not is_plain:
            raise InvalidParameterError(
                "[people] unvouched must be left out but for a uniform shuffle of single reports: elsewhere a number "
                "of fakes is needed."
            )
        if fakes and fakes >= least:
            raise InvalidParameterError(
                "[people] fakes must be below minimum_batch of [release], so that somebody honest is in every release; "
                f"got fakes={fakes} with minimum_batch={least}."
            )
        most = None if self.people.expected is None else self.randomizer.most_people
        if most is not None and fakes and fakes > (spare := most - self.randomizer.least_people):
            raise InvalidParameterError(
                f"[people] fakes must be at most {spare}, the people whose noise is not needed by the "
                f"dropout_fraction of [protocol]: fake senders add none; got fakes={fakes}."
            )
        object.__setattr__(self, "shuffler", self.shuffler.within(fakes))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The column written by ``to_dict``; refused with both a randomizer and a protocol."""
        table = with_question(cls.title, named_jointly(cls.title, data, "value"))
        return super(Column, cls).from_dict(with_shuffler(table))

    def to_dict(self) -> dict[str, Any]:
        """All keys of a task file of one column, defaults included."""
        table = as_columns(super(Column, self).to_dict(), "value")
        return as_written(without_defaults(table | self.shuffler.beside), self.randomizer)

    def require_people(self, num_users: int, *, planned: bool = False) -> None:
        """Refuse a release, made or ``planned``, if too few people add the protocol's noise."""
        least, fakes = self.randomizer.least_people, self.people.fakes
        if num_users - fakes < least:
            outcome = "Nothing would be released" if planned else "Nothing was released"
            honest = f" besides fakes={fakes}, who add none" if fakes else ""
            raise BatchTooSmallError(
                f"a release by {self.randomizer.kind!r} needs the noise of at least {least} people in column "
                f"{self.value!r}{honest}, those expected less the dropout_fraction; got {num_users}. {outcome}."
            )

    def require_batch(self, num_reports: int) -> None:
        """Refuse reports of fewer people than a release needs, or of more people than the protocol allows."""
        messages = self.randomizer.randomizer().model.num_messages
        people, counted = num_reports // messages, "reports of" if messages == 1 else "people in"
        if people < self.release.minimum_batch:
            raise BatchTooSmallError(
                f"a release needs at least minimum_batch = {self.release.minimum_batch} {counted} column "
                f"{self.value!r}; got {people}. Nothing was released."
            )
        self.require_people(people)
        self.require_room(people)

    def require_room(self, num_users: int) -> None:
        """Refuse more people than the protocol allows."""
        most = self.randomizer.most_people
        if most is not None and num_users > most:
            raise InputDataError(
                f"column {self.value!r} must hold the answers of at most expected = {most} people, which the task was "
                "planned for; there are more."
            )

    @property
    def sha256(self) -> str:
        """SHA-256 of everything fixed for the column, defaults included."""
        return digest(self.to_dict())

    @property
    def inputs(self) -> tuple[str, ...]:
        """The private columns of the input: one, two that are randomized jointly, or one for each option."""
        return self.randomizer.read_from or self.columns or (self.value,)

    @property
    def read_from(self) -> tuple[str, ...]:
        """Columns of the input that are read: the column's own and the earlier question's columns."""
        return self.inputs if self.earlier is None else (*self.inputs, *self.earlier.inputs)

    @property
    def earlier(self) -> "Column | None":
        """Column of the earlier question that decides who is asked; None where everybody is asked."""
        if self.after is None:
            return None
        return replace(
            self, value=self.after.column, columns=(), question=None, after=None, randomizer=self.after.randomizer
        )

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the estimates, one for each row."""
        return self.randomizer.targets_of(self.label)

    @property
    def attached(self) -> tuple[str, ...]:
        """Columns sent with each report: public columns if the shuffler keeps them, or the row's number."""
        return self.shuffler.attached(self.public)

    @property
    def labeled(self) -> tuple[str, ...]:
        """Columns of the view's label table, which has one row for each person or stratum."""
        return self.attached if self.shuffler.num_rows is None else ()

    @property
    def detached(self) -> tuple[str, ...]:
        """The public columns that the shuffle removes."""
        return self.shuffler.detached(self.public)

    @property
    def label(self) -> str:
        """The column's name among other columns."""
        return printable(self.value)

    @property
    def asked(self) -> str:
        """The question that people are asked, or the column's name where the task has no question."""
        return self.label if self.question is None else self.question

    def pipeline(self, shuffler: Shuffler | None = None) -> Pipeline:
        """The randomizer, shuffler and analyzer of the column; ``shuffler`` is given for groups, a graph or strata."""
        randomizer = self.randomizer.randomizer()
        level, least = self.release.level, self.release.minimum_batch
        analyzer = self.randomizer.analyzer(level=level, columns=self.inputs)
        if self.after is not None:
            from shuffledp.analyzers import FollowUpAnalyzer

            analyzer = FollowUpAnalyzer(analyzer=analyzer, minimum_batch=least, level=level)
        return Pipeline(
            randomizer=randomizer,
            shuffler=self.shuffler.in_rounds(shuffler or self.shuffler.shuffler(), randomizer.model),
            analyzer=self.shuffler.analyzer(analyzer),
            fakes=None if self.people.unvouched else self.people.fakes,
            fakes_collude=self.shuffler.needs_graph,
        )

    def model(self, num_users: int, shuffler: Shuffler | None = None) -> ProtocolModel:
        """The public description of the protocol for this number of users; ``shuffler`` is as in `pipeline`."""
        return self.pipeline(shuffler).model(num_users)

    def curator(self, protocol: ProtocolModel, stated: PrivacyStatement) -> TrustedCurator | None:
        """Trusted curator to compare with this column, with the guarantee ``stated``; None if people have weights."""
        return None if self.shuffler.is_weighted else self.randomizer.curator_beside(protocol, stated.guarantee)


def check_wording(question: str | None, language: str | None = None) -> None:
    """Refuse a question of several lines, and a language that is not a language tag."""
    if question is not None:
        one_line(question=question)
    if language is not None and not _LANGUAGE.fullmatch(language):
        raise invalid("a language such as 'en' or 'pt-BR' (a tag of BCP 47)", language=language)


def digest(task: Mapping[str, Any]) -> str:
    """SHA-256 of a task as a dictionary; the order of its keys does not matter."""
    return hashlib.sha256(canonical_json(task)).hexdigest()


def without_defaults(table: Mapping[str, Any]) -> dict[str, Any]:
    """The task's table without keys at their default, so that digests of older task files stay valid."""
    found = dict(table) | {"strip": table["strip"] or None}
    for key in ("question", "language", "strip", "after"):
        found = without_none(found, key)
    return found
