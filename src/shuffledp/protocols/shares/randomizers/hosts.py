"""Shares of one person: residues that add up to a secret, spread over hosts."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.described import Described, without_none
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.statement_terms import Trust
from shuffledp.core.sum_models import ShareModel
from shuffledp.core.validate import invalid
from shuffledp.randomizers.sampling.coins import BATCH
from shuffledp.randomness.sources import RandomSource, uniform_integers

BUFFERS = ("message", "host")
MOST_HOSTS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts(Described):
    """Hosts that shuffle shares; each gets equally many shares of every value.

    Args:
        number: of hosts, S; from 1 to 1024.
        colluding: how many of them, whichever, may tell the analyst who sent what; below ``number``.
        buffers: "message" for a shuffle of its own for each message, with a permutation of its own; "host" where each
            host pours all that it gets of a value into one buffer, in which nothing tells messages apart.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    Example:
        >>> Hosts(number=5, colluding=1, buffers="host").messages_per_buffer(10)
        2
    """

    title: ClassVar[str] = "the hosts of shares"
    number: int = 1
    colluding: int = 0
    buffers: str = "message"

    def __post_init__(self) -> None:
        validate.integer_at_least(1, hosts=self.number)
        validate.integer_at_least(0, colluding_hosts=self.colluding)
        validate.one_of(BUFFERS, buffers=self.buffers)
        if self.number > MOST_HOSTS:
            raise invalid(f"at most {MOST_HOSTS}", hosts=self.number)
        if self.colluding >= self.number:
            raise invalid(f"below hosts={self.number}", colluding_hosts=self.colluding)

    @property
    def pours(self) -> bool:
        """Whether each host puts all messages of a value into one buffer."""
        return self.buffers == "host"

    @property
    def played_by_one(self) -> tuple[str, ...]:
        """Warning for one operator in the role of all hosts."""
        if self.number == 1:
            return ()
        return (
            f"One operator played all {self.number} hosts of the shuffles here, and so could add up every person's "
            "messages: what is promised holds against whoever is not told.",
        )

    def messages_per_buffer(self, num_shares: int) -> int:
        """Number of messages of one value in a buffer, if the value is split into ``num_shares`` shares."""
        return num_shares // self.number if self.pours else 1

    def told_buffers(self, num_shares: int) -> int:
        """Number of a value's buffers in which colluding hosts reveal the senders."""
        return self.colluding * (1 if self.pours else num_shares // self.number)

    def may_fail(self, num_shares: int) -> str:
        """Words on the amount of shuffling that may fail without harm to the statement.

        Also if none of it may fail.
        """
        each = num_shares // self.number
        if self.number == 1:
            return (
                "All messages of a value go through one buffer, in which nothing tells them apart; if its order is "
                "worse than promised, nothing is promised, and without any shuffle nothing is left."
            )
        messages = "one message" if each == 1 else f"{each} messages"
        where = ", which it pours into one buffer" if self.pours else ", each for a shuffle with an order of its own"
        spread = f"Each of {self.number} hosts gets {messages} of each value{where if each > 1 else ''}."
        fresh = (
            f" A host that {'' if self.pours else 'used one order for several of its shuffles, or '}kept a person's "
            "messages together would count as one with a single message, and what is stated would not hold."
        )
        if self.colluding:
            some = f"Any {_in_words(self.colluding)} of the {self.number} hosts"
            fails = (
                f" {some} may work together with the analyst, or not shuffle at all, and all this still holds, if they "
                "are settled before anything comes out"
            )
        elif self.pours and each > 1:
            fails = " None of them may tell the analyst who sent what"
        else:
            fails = " One of a value's messages may be shuffled by nobody, or its sender told, and all this still holds"
        return (
            f"{spread}{fresh if each > 1 else ''}{fails}; beyond that nothing is promised, and whoever sees what comes "
            "in at all hosts, such as one operator who plays them all, reads the answers."
        )

    def price(self, num_shares: int) -> str:
        """Words for the price of the hosts: the trust that they need."""
        if self.number == 1:
            return (
                "The price is trust in the shuffler: if it keeps a record of who sent what, nothing protects the "
                "answers, and if its one buffer is worse than promised, nothing is certain any more."
            )
        borne = self.colluding or int(num_shares == self.number)
        too_many = f"{f'more than {_in_words(borne)}' if borne else 'one'} of {self.number}"
        return (
            "The price is trust in the hosts: if all of them tell who sent what, nothing protects the answers, and if "
            f"{too_many} tell it, or shuffle worse than promised, nothing is certain any more."
        )


def _in_words(hosts: int) -> str:
    return "one" if hosts == 1 else str(hosts)


class HostedShareModel(ShareModel):
    """Model of shares that are spread over hosts."""

    __slots__ = ()
    hosts: Hosts

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of the fields; ``hosts`` is left out if it has its default, one trusted host.

        The default has a shuffle for each message.
        """
        table = super().to_dict()
        return without_none(table | {"hosts": None if self.hosts == Hosts() else table["hosts"]}, "hosts")

    @property
    def guarantee(self) -> LocalDP:
        """Trivial local guarantee: one person's messages before the shuffles add up to the value."""
        return LocalDP(epsilon=math.inf)

    @property
    def messages_per_round(self) -> int:  # type: ignore[override]  # a plain attribute of the base, computed here
        """Number of messages of each person in one round: one, or all messages of a value at one host."""
        return self.hosts.messages_per_buffer(self.num_shares)

    @property
    def num_hosts(self) -> int:  # type: ignore[override]
        """Number of hosts, which get equally many rounds of each value."""
        return self.hosts.number

    @property
    def told_rounds(self) -> int:  # type: ignore[override]
        """Number of rounds of one value in which colluding hosts reveal the senders."""
        return self.hosts.told_buffers(self.num_shares)

    @property
    def may_fail(self) -> str:  # type: ignore[override]
        """Words on the amount of shuffling that may fail without harm to the statement.

        Also if none of it may fail.
        """
        return ShareModel.may_fail if self.hosts == Hosts() else self.hosts.may_fail(self.num_shares)

    @property
    def treated(self) -> str:  # type: ignore[override]
        """Words for the way of an answer through the shuffles."""
        return ShareModel.treated if self.hosts.number == 1 else "every answer is split into shares, which hosts mix"

    @property
    def price(self) -> str:  # type: ignore[override]
        """Words for the price of the protocol: the trust in the shuffles."""
        return ShareModel.price if self.hosts == Hosts() else self.hosts.price(self.num_shares)

    @property
    def played_by_one(self) -> tuple[str, ...]:
        """Warning for one operator in the role of all hosts."""
        return self.hosts.played_by_one

    @property
    def trust(self) -> tuple[Trust, ...]:
        """Trust assumptions: no party adds up the messages of one person.

        Of several hosts, not even the shuffler has all of them.
        """
        return (Trust.ALL_SHARES,) if self.hosts.number == 1 else (Trust.SHARES_APART,)

    def _check_hosts(self) -> None:
        """Refuse a number of shares that hosts cannot divide equally."""
        if self.num_shares % self.hosts.number:
            raise invalid(f"a multiple of the number of hosts, {self.hosts.number}", num_shares=self.num_shares)


def additive_shares(
    secrets: NDArray[np.int64], modulus: int, num_shares: int, source: RandomSource
) -> NDArray[np.unsignedinteger]:
    """Uniform residues that sum to each secret, secret after secret; the last residue fixes the sum."""
    residues = np.empty((len(secrets), num_shares), dtype=np.min_scalar_type(modulus - 1))
    rows = max(1, BATCH // num_shares)
    for start in range(0, len(secrets), rows):
        batch = slice(start, start + rows)
        secret = secrets[batch]
        free = uniform_integers(modulus, secret.size * (num_shares - 1), source=source).reshape(secret.size, -1)
        residues[batch, :-1] = free
        residues[batch, -1] = (secret - free.sum(axis=1)) % modulus
        free.fill(0)
    return residues.reshape(-1)
