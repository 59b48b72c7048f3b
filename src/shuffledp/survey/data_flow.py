"""Counts of a release's people and reports, refused reports included, and the origin of reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.core import validate
from shuffledp.core.described import Described, without_none
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.statement_terms import Party, Trust
from shuffledp.core.statements import PrivacyStatement
from shuffledp.survey.columns import Column
from shuffledp.survey.section import require_sha256

DEMONSTRATION = (
    "Demonstration: answers are made up, in whole or in part, and one operator may play all parties. It protects "
    "nobody, and says nothing about real people."
)
LOCAL_NETWORK = (
    "One operator, in one local network without encryption: whoever is on this network sees each phone's randomized "
    "answer (epsilon0), and whoever can change what it carries, such as the owner of the router, could serve another "
    "page and read answers."
)
_ONE_OPERATOR = (
    "One operator runs several of the parties, as far as their addresses tell, and could see who sent which report."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected(Described):
    """Reports that a collection service received and did not release, by reason; counts only.

    Args:
        collection: the SHA-256 of the collection file.
        duplicates: copies of reports, which count once.
        late: reports that came after the closing date.
        malformed: what is no report of the collection, also after it is opened.
        undecryptable: what the analyst's key does not open.
        tests: what was sealed as a test of the way, and is nobody's answer.
    """

    collection: str
    duplicates: int = 0
    late: int = 0
    malformed: int = 0
    undecryptable: int = 0
    tests: int = 0

    def __post_init__(self) -> None:
        require_sha256(collection=self.collection)
        validate.integer_at_least(0, **self.refused)

    @property
    def refused(self) -> dict[str, int]:
        """Counts of refused reports, by reason."""
        return {
            "duplicates": self.duplicates,
            "late": self.late,
            "malformed": self.malformed,
            "undecryptable": self.undecryptable,
            "tests": self.tests,
        }

    def to_dict(self) -> dict[str, Any]:
        """The counts; ``tests`` is left out if there was no test report."""
        written = super(Collected, self).to_dict()
        return written if self.tests else {name: count for name, count in written.items() if name != "tests"}

    def flow(self, column: Column, people: int, *, released: int) -> "DataFlow":
        """Data flow of a column: these refused reports, ``people`` whose reports opened, and ``released`` reports."""
        return DataFlow(
            received=people + sum(self.refused.values()),
            missing=0,
            released=released,
            expected=column.people.expected,
            detached=column.detached,
            collected=self,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFlow(Described):
    """Counts of received rows or reports, missing answers, and released reports.

    Args:
        received: rows in the input, or reports that a service received; None for a stage that saw neither.
        missing: rows without an answer that were dropped.
        released: reports in the view; 0 before there is one.
        expected: people planned for, if the task says.
        detached: public columns that the shuffle took off.
        collected: what a service did not release of what it received; None where there was none.
    """

    received: int | None
    missing: int
    released: int
    expected: int | None = None
    detached: tuple[str, ...] = ()
    collected: Collected | None = None

    def __post_init__(self) -> None:
        validate.integer_at_least(0, missing=self.missing, released=self.released)
        if self.received is not None:
            validate.integer_at_least(self.missing, received=self.received)

    def to_dict(self) -> dict[str, Any]:
        """The counts; ``collected`` is left out where no service received reports."""
        return without_none(super(DataFlow, self).to_dict(), "collected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Origin of a release's reports: parties, needed trust, and whether answers are made up.

    Args:
        parties: the trusted ones by name, where they are known.
        trust: whom, or what, people must trust besides the shuffle.
        demonstration: whether the answers may be made up.
        seeded: whether the randomness can be replayed.
    """

    parties: tuple[Party, ...] = ()
    trust: tuple[Trust, ...] = ()
    demonstration: bool = False
    seeded: bool = False


def said_of_one_operator(statements: Sequence[PrivacyStatement], who: str = _ONE_OPERATOR) -> str:
    """Warning that one operator runs several parties, with the protection that remains."""
    left = [each.sentence_of(each.guarantee) for each in statements if each.guarantee.type == LocalDP.type]
    return " ".join([who, *(f"Whatever operators do, the chance on each device leaves this: {each}" for each in left)])
