"""Churn schedules: attendance in each round of a walk, recorded or drawn at random.

A schedule says nothing about reports: it is public, and guarantees are stated given it. That is honest only where being
online depends on no answer, no report and no walk, which no computation can check.
"""

import base64
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.randomness.sources import RandomSource, bernoulli

STAY, ONLINE = "stay", "online"
RULES = (STAY, ONLINE)


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(Described):
    """Attendance in each round, with the rule for a holder who draws an absent person.

    In each round a person offline keeps all reports that they hold, and gets none. With the rule "stay" the next
    holder is drawn as if all were online, and a report stays where it is if that one is offline. With the rule "online"
    the next holder is drawn among those who are online, in proportion to the chances that they have if all are; it is
    for overlays, where the holder may draw herself, so that the draw always succeeds.

    Args:
        online: whether each person is online in each round, shape (rounds, people), boolean.
        rule: "stay" or "online".
        handing_in: who hands in what they hold at the end, shape (people,), boolean; None is everybody. What others
            hold is not seen.

    Raises:
        InvalidParameterError: if an argument is something else.

    Example:
        >>> schedule = Schedule(np.array([[True, True, False], [True, True, True]]))
        >>> schedule.num_rounds, schedule.num_users, schedule.offline
        (2, 3, 1)
        >>> Schedule.from_dict(schedule.to_dict()) == schedule
        True
    """

    online: NDArray[np.bool_]
    rule: str = STAY
    handing_in: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        validate.one_of(RULES, rule=self.rule)
        validate.unmasked(online=self.online)
        given = np.asarray(self.online)
        if given.ndim != 2 or given.dtype != np.bool_ or not given.shape[1]:
            raise InvalidParameterError(
                f"online must be a boolean for each round and person; got {given.dtype} of shape {given.shape}."
            )
        object.__setattr__(self, "online", _kept(given))
        if self.handing_in is None:
            return
        last = np.asarray(self.handing_in)
        if last.dtype != np.bool_ or last.shape != given.shape[1:]:
            raise InvalidParameterError(
                f"handing_in must be a boolean for each of {given.shape[1]} people; got {last.dtype} of shape "
                f"{last.shape}."
            )
        if not last.any():
            raise InvalidParameterError("handing_in must be True for one person or more; got none.")
        object.__setattr__(self, "handing_in", None if last.all() else _kept(last))

    @classmethod
    def drawn(
        cls, num_users: int, num_rounds: int, *, offline: float, rule: str, source: RandomSource | None = None
    ) -> Self:
        """Random schedule: each person is offline in each round with chance ``offline``, independently.

        Args:
            num_users: 1 or more.
            num_rounds: 0 or more.
            offline: from 0 to 1, exactly as an integer out of 2^64.
            rule: "stay" or "online".
            source: None is the cryptographic source.

        Raises:
            InvalidParameterError: if an argument is out of range.
        """
        validate.integer_at_least(1, num_users=num_users)
        validate.integer_at_least(0, num_rounds=num_rounds)
        validate.probability(offline=offline)
        away = bernoulli(round(offline * 2**64), num_users * num_rounds, source=source) if offline else None
        shape = (int(num_rounds), int(num_users))
        return cls(np.ones(shape, dtype=np.bool_) if away is None else ~away.reshape(shape), rule)

    def __getitem__(self, number: int) -> NDArray[np.bool_]:
        """Mask of the people online in this round, counted from 0; shape (people,)."""
        return np.asarray(self.online[number])

    @property
    def num_rounds(self) -> int:
        """Number of rounds."""
        return int(self.online.shape[0])

    @property
    def num_users(self) -> int:
        """Number of people."""
        return int(self.online.shape[1])

    @property
    def offline(self) -> int:
        """Number of absences: people offline, added up over the rounds."""
        return int(self.online.size - np.count_nonzero(self.online))

    def first(self, num_rounds: int) -> "Schedule":
        """Schedule of the first rounds, after which all people hand in."""
        validate.integer_at_least(0, num_rounds=num_rounds)
        return Schedule(self.online[:num_rounds], self.rule)

    @cached_property
    def digest(self) -> str:
        """SHA-256 digest of the schedule, in hexadecimal.

        It covers the rule, the numbers of rounds and people, attendance, and who hands in.
        """
        head = f"{self.rule} {self.num_rounds} {self.num_users} ".encode()
        last = b"" if self.handing_in is None else np.packbits(self.handing_in).tobytes()
        return hashlib.sha256(head + np.packbits(self.online).tobytes() + last).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return (
            f"Schedule({self.num_rounds} rounds, {self.num_users} people, rule {self.rule!r}, offline {self.offline})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON, with attendance as bits in base64.

        There is a bit for each round and person; who hands in is written if not all people do.
        """
        found = {"rule": self.rule, "rounds": self.num_rounds, "people": self.num_users, "online": _text(self.online)}
        return found if self.handing_in is None else found | {"handing_in": _text(self.handing_in)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Schedule from the dictionary of `to_dict`.

        Raises:
            InvalidParameterError: if it is something else.
        """
        wanted = {"rule", "rounds", "people", "online"}
        if not isinstance(data, Mapping) or set(data) - {"handing_in"} != wanted:
            raise InvalidParameterError(f"a schedule must have the keys {', '.join(sorted(wanted))}.")
        rounds, people = data["rounds"], data["people"]
        validate.integer_at_least(0, rounds=rounds)
        validate.integer_at_least(1, people=people)
        online = _bits("online", data["online"], (rounds, people))
        last = _bits("handing_in", data["handing_in"], (people,)) if "handing_in" in data else None
        return cls(online, data["rule"], last)


def _kept(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Read-only copy of an array."""
    found = flags.copy()
    found.setflags(write=False)
    return found


def _text(flags: NDArray[np.bool_]) -> str:
    return base64.b64encode(np.packbits(flags).tobytes()).decode("ascii")


def _bits(name: str, text: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Array of flags from its base64 text, the inverse of `_text`."""
    try:
        packed = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(f"{name} must be base64.") from error
    size = math.prod(shape)
    if packed.size != -(-size // 8):
        raise InvalidParameterError(
            f"{name} must be a bit for each of {' rounds and '.join(map(str, shape))} people; got {packed.size} bytes."
        )
    bits = np.unpackbits(packed)
    if bits[size:].any():
        raise InvalidParameterError(f"{name} must have 0 in the bits after the last person.")
    return bits[:size].astype(np.bool_).reshape(shape)
