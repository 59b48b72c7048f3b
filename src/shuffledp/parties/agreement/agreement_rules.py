"""Rules of an agreement between hosts: whose signatures count, and how many people are needed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain

from shuffledp.core import validate
from shuffledp.core.validate import invalid
from shuffledp.survey import Collection


class Reason(IntEnum):
    """Reason why an agreement ends without a release."""

    NONE = 0
    TOO_FEW = 1  # of fewer people than are needed do all hosts have every share
    LIES = 2  # one host has signed two things that contradict each other


@dataclass(frozen=True, slots=True)
class Refusal:
    """Final refusal of an agreement: the reason, and the number of a host if the reason names one."""

    reason: Reason
    host: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementRules:
    """Rules of the agreement of one collection.

    No host takes in more people than are expected, and so none can leave more of them out, without being refused, than
    may stay away.

    Args:
        collection_id: id of the collection.
        keys: of each host, in their order, the public keys by which it may sign; two hosts or more.
        needed: fewest people of whom all hosts must have every share, so that the planned noise is in the sum.
    """

    collection_id: bytes
    keys: tuple[tuple[bytes, ...], ...]
    needed: int

    def __post_init__(self) -> None:
        if len(self.keys) < 2:
            raise invalid("those of two hosts or more", keys=len(self.keys))
        validate.integer_at_least(1, needed=self.needed)

    @property
    def hosts(self) -> range:
        """Numbers of the hosts."""
        return range(len(self.keys))

    def judged(self, sets: Sequence[Sequence[bytes]]) -> Refusal | list[bytes]:
        """Digests, ascending, of the sets that all hosts have; a refusal if these sets are too few."""
        having = Counter(chain.from_iterable(sets))
        complete = sorted(each for each, count in having.items() if count == len(sets))
        return Refusal(Reason.TOO_FEW) if len(complete) < self.needed else complete


def rules_of(collection: Collection) -> AgreementRules:
    """Rules of the agreement of a collection with several hosts."""
    keys = tuple(each.key.several for each in collection.hosts)
    return AgreementRules(collection_id=collection.id, keys=keys, needed=collection.minimum)
