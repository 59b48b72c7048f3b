"""Overlays by design: each round of a walk draws one digit of a report's address anew.

A graph that people happen to have mixes slowly; with contacts that are chosen for it, a walk needs one round a digit.
Let n = m_1 ... m_r, an address be r digits, digit i one of m_i, and everybody have one of their own. In round i whoever
holds a report draws digit i uniformly, the old one included, and passes the report on to the person with that address.
After r rounds it is anywhere with chance 1/n exactly, whoever sent it.

For any other n, primes included, take m_1 ... m_r <= n < 2 m_1 ... m_r. A *cell* is an address, and n - m_1 ... m_r
people share one with somebody. With W(prefix) the number of people whose addresses begin so, a holder in the cell
d_1 ... d_(i-1) x_i ... x_r takes the digit d with chance W(d_1 ... d_(i-1) d) / W(d_1 ... d_(i-1)), and passes on to
either person of the cell d_1 ... d_(i-1) d x_(i+1) ... x_r. So digits are drawn in turn, each with the chance that it
has in the address of a uniform person, wherever the report began: it ends in a cell with chance W(cell) / n, and with
everybody there equally likely: with each of all n people with chance 1/n exactly.

No edges are stored. People are numbered in the order of their addresses, so that those of one prefix follow each other,
and two arrays say who is in which cell.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.table import Integers
from shuffledp.core.validate import instance_of, integer_at_least, invalid
from shuffledp.people.graphs.connected_parts import Graphs

_MOST_USERS = 2**31 - 1
_MOST_ENTRIES = 10**8  # of the matrix of one round


@dataclass(frozen=True)
class Overlay:
    """Overlay of contacts; walks end exactly uniformly after one round for each of the ``sizes``.

    Args:
        num_users: people, 2 or more.
        sizes: "m_1", ..., "m_r": how many values each digit of an address has, 2 or more, and so about how large the
            groups are in which each round mixes. Their product is at most the number of people, and over half of it.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> overlay = Overlay(10_000, (10, 10, 10, 10))
        >>> overlay.num_rounds, overlay.most_contacts
        (4, 36)
        >>> Overlay.within(9973, contacts=200).sizes  # a prime
        (99, 100)
    """

    num_users: int
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        check_sizes(self.num_users, self.sizes)
        if self.num_users > _MOST_USERS:
            raise invalid(f"at most {_MOST_USERS}", num_users=self.num_users)
        object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))

    @classmethod
    def in_rounds(cls, num_users: int, num_rounds: int) -> Self:
        """Overlay of ``num_rounds`` rounds with few contacts: groups of nearly equal sizes, the smallest first.

        Where the number of people has such factors nobody shares an address, unless somebody would need more contacts
        then. With small groups first, fewer reports leave their sender in the first round. As many rounds as possible
        are matchings: in each round everybody has one contact, or two where people share addresses, and in the last
        one perhaps a few, and a coin decides (on 2^r people the edges of a hypercube).

        Args:
            num_users: 2 or more.
            num_rounds: from 1, where everybody is everybody's contact, to log2 of the number of people.

        Raises:
            InvalidParameterError: if an argument is out of range.
        """
        integer_at_least(2, num_users=num_users)
        integer_at_least(1, num_rounds=num_rounds)
        if num_rounds > (most := most_rounds(num_users)):
            raise invalid(f"at most {most}, log2 of num_users={num_users}", num_rounds=num_rounds)
        fitting, exact = cls(num_users, fitting_sizes(num_users, num_rounds)), _even_factors(num_users, num_rounds)
        if exact is None:
            return fitting
        even = cls(num_users, exact)
        fewer = even.least_contacts <= fitting.least_contacts or even.most_contacts <= fitting.most_contacts
        return even if fewer else fitting

    @classmethod
    def within(cls, num_users: int, *, contacts: int) -> Self:
        """Overlay with the fewest rounds of `in_rounds` and at most ``contacts`` for each person.

        Args:
            num_users: 2 or more.
            contacts: log2 of the number of people, or a few more, are enough for one.

        Raises:
            InvalidParameterError: if an argument is out of range, or all need more contacts.
        """
        integer_at_least(2, num_users=num_users)
        integer_at_least(1, contacts=contacts)
        numbers = range(1, most_rounds(num_users) + 1)
        for each in (cls.in_rounds(num_users, number) for number in numbers):
            if each.least_contacts <= contacts and each.most_contacts <= contacts:
                return each
        fewest = min(cls.in_rounds(num_users, number).most_contacts for number in numbers)
        raise invalid(f"at least {fewest} for an overlay of num_users={num_users}", contacts=contacts)

    @property
    def num_rounds(self) -> int:
        """Number of rounds after which a report is uniformly distributed: one for each digit."""
        return len(self.sizes)

    @property
    def num_cells(self) -> int:
        """Number of different addresses."""
        return math.prod(self.sizes)

    @property
    def least_contacts(self) -> int:
        """Lower bound on the largest number of contacts: the sum of m_i - 1.

        Exact if no addresses are shared.
        """
        return sum(self.sizes) - self.num_rounds

    @cached_property
    def occupants(self) -> NDArray[np.int32]:
        """Number of people in each cell, one or two; shape (cells,).

        Surplus people k = 0, 1, ... go to the prefixes of r - 1 digits in turn, so that prefixes differ by at most one
        person; inside a prefix they go to one last digit after the other, and neighboring prefixes begin differently.
        """
        surplus, last = np.arange(self.num_users - self.num_cells), self.sizes[-1]
        prefixes = self.num_cells // last
        prefix = surplus % prefixes
        found = np.ones(self.num_cells, dtype=np.int32)
        found[prefix * last + (prefix + surplus // prefixes) % last] = 2
        found.setflags(write=False)
        return found

    @cached_property
    def starts(self) -> Integers:
        """First person of each cell, followed by the number of people; shape (cells + 1,)."""
        found = np.concatenate([[0], np.cumsum(self.occupants, dtype=np.int64)])
        found.setflags(write=False)
        return found

    @cached_property
    def cells(self) -> NDArray[np.int32]:
        """Cell of each person, ascending; shape (people,)."""
        found = np.repeat(np.arange(self.num_cells, dtype=np.int32), self.occupants)
        found.setflags(write=False)
        return found

    @cached_property
    def most_contacts(self) -> int:
        """Largest number of contacts of a person: recipients and senders of reports in any round."""
        if self.num_users == self.num_cells:
            return self.least_contacts
        shared = self.occupants - 1
        found = shared.copy()
        for each in rounds_of(self, self.num_rounds):
            found += each.num_contacts - shared
        return int(found.max())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the number of people and the sizes, in hexadecimal."""
        return hashlib.sha256(repr(("overlay", self.num_users, *self.sizes)).encode()).hexdigest()


Contacts = Graphs | Overlay  # possible recipients of each person's reports


@dataclass(frozen=True)
class OverlayRound:
    """Round on an overlay in which one digit is drawn.

    Args:
        overlay: whose.
        place: which digit, from 0 on.
    """

    overlay: Overlay
    place: int

    @property
    def num_users(self) -> int:
        """Number of people."""
        return self.overlay.num_users

    @property
    def size(self) -> int:
        """Number of values of the digit."""
        return self.overlay.sizes[self.place]

    @property
    def below(self) -> int:
        """Number of cells that share the digits up to and including this one."""
        return math.prod(self.overlay.sizes[self.place + 1 :])

    @property
    def grid(self) -> NDArray[np.int32]:
        """Number of people by the digits before, at and after this one; shape (prefixes, size, below)."""
        return self.overlay.occupants.reshape(-1, self.size, self.below)

    @property
    def num_contacts(self) -> NDArray[np.int32]:
        """Number of possible recipients in this round other than the person, by cell; shape (cells,)."""
        reached = self.grid.sum(axis=1, keepdims=True, dtype=np.int32) - 1
        return np.broadcast_to(reached, self.grid.shape).reshape(-1)

    def contacts_of(self, person: int) -> Integers:
        """Other people who may send to this person, or receive from this person, in this round; ascending."""
        cell, starts = int(self.overlay.cells[person]), self.overlay.starts
        first = cell - cell // self.below % self.size * self.below
        cells = first + self.below * np.arange(self.size)
        found = np.unique(np.concatenate([starts[cells], starts[cells + 1] - 1]))
        others: Integers = found[found != person]
        return others

    def transposed_transition(self) -> Any:
        """Sparse transition matrix: column j is the law of the recipient of a report that person j holds."""
        import scipy.sparse as sp

        overlay, starts = self.overlay, self.overlay.starts
        if overlay.num_users * self.size > _MOST_ENTRIES:
            raise UnsupportedModelError(
                f"a round of {overlay.num_users} people in groups of {self.size} has too many chances to list; at most "
                f"{_MOST_ENTRIES} are."
            )
        prefixes = self.grid.sum(axis=2)
        chances = prefixes / prefixes.sum(axis=1, keepdims=True)
        cells = overlay.cells.astype(np.int64)
        first = cells - cells // self.below % self.size * self.below
        reached = first[:, None] + self.below * np.arange(self.size)  # a row for each person, as in the next line
        shares = chances[cells // (self.below * self.size)] / overlay.occupants[reached]
        rows = [starts[reached].ravel(), (starts[reached + 1] - 1).ravel()]
        columns = np.tile(np.repeat(np.arange(overlay.num_users), self.size), 2)
        alone = overlay.occupants[reached] == 1  # the two are one person
        weights = np.concatenate([shares.ravel(), np.where(alone, 0.0, shares).ravel()])
        shape = (overlay.num_users, overlay.num_users)
        return sp.csr_array(sp.coo_array((weights, (np.concatenate(rows), columns)), shape=shape))


def rounds_of(overlay: Overlay, num_rounds: int) -> tuple[OverlayRound, ...]:
    """Overlay rounds of a walk of ``num_rounds`` rounds; the digits repeat after the last."""
    return tuple(OverlayRound(overlay, place % overlay.num_rounds) for place in range(num_rounds))


def most_rounds(num_users: int) -> int:
    """Largest number of address digits for this number of people, with two or more values each."""
    return num_users.bit_length() - 1


def fitting_sizes(num_users: int, num_rounds: int) -> tuple[int, ...]:
    """Nearly equal group sizes for this number of people and rounds, the smallest first.

    Each is as large as possible after the ones before it.

    Args:
        num_users: 2 or more.
        num_rounds: from 1 to `most_rounds`.
    """
    sizes, left = [], int(num_users)
    for further in range(num_rounds, 0, -1):
        size = _root(left, further)
        sizes.append(size)
        left //= size
    return tuple(sizes)


def _even_factors(number: int, count: int, least: int = 2) -> tuple[int, ...] | None:
    """Ascending ``count`` factors of a number, each ``least`` or more, with the smallest sum; or None."""
    if count == 1:
        return (number,) if number >= least else None
    found: tuple[int, ...] | None = None
    for first in range(_root(number, count), least - 1, -1):
        if found and first + (count - 1) * (number / first) ** (1 / (count - 1)) >= sum(found):
            break  # the others are as large at least as if they were equal; and more so, the smaller the first
        rest = _even_factors(number // first, count - 1, first) if number % first == 0 else None
        if rest and (found is None or first + sum(rest) < sum(found)):
            found = (first, *rest)
    return found


def _root(number: int, degree: int) -> int:
    """Integer root, rounded down."""
    found = max(round(math.pow(number, 1 / degree)), 1)
    while found**degree > number:
        found -= 1
    while (found + 1) ** degree <= number:
        found += 1
    return found


def check_sizes(num_users: int, sizes: Sequence[int]) -> None:
    """Refuse group sizes that do not fit this number of people; the error names possible sizes."""
    integer_at_least(2, num_users=num_users)
    instance_of(Sequence, sizes=sizes)
    if not sizes:
        raise invalid("one size or more", sizes=[])
    for size in sizes:
        integer_at_least(2, **{"each of sizes": size})
    product = math.prod(sizes)
    if product <= num_users < 2 * product:
        return
    fitting = fitting_sizes(num_users, min(len(sizes), most_rounds(num_users)))
    raise InvalidParameterError(
        f"sizes must multiply to a number that is at most num_users={num_users} and over half of it, so that addresses "
        f"are shared by two people at most; got sizes={list(sizes)}, which multiply to {product}. "
        f"{list(fitting)} would fit."
    )


def check_cycles(num_rounds: int, laziness: float, cycle: int) -> None:
    """Refuse walks on an overlay that do not end exactly uniformly: unfinished cycles, and laziness."""
    integer_at_least(1, num_rounds=num_rounds)
    if num_rounds % cycle:
        raise invalid(f"{cycle} on this overlay, one for each digit, or a multiple of it", num_rounds=num_rounds)
    if laziness:
        raise invalid("0 on an overlay, whose rounds include staying", laziness=laziness)
