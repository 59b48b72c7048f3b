"""Pools of a collection: messages of all people that are shuffled together."""

from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.survey.columns import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Messages about one private column that are shuffled together, equally many of each person.

    All devices send equally many messages into a pool, in one upload of one length, and the shuffler pours those of
    everybody together; so whoever opens the pool cannot tell which messages came from one person.

    Args:
        number: from 0, in the order of a person's messages; the ``column`` of manifests, and part of what a report is
            sealed for.
        column: what the messages are about.
        messages: of each person.
        host: number of the shuffler that mixes it; hosts take turns, so that each has as many of every value.
    """

    number: int
    column: Column
    messages: int = 1
    host: int = 0

    @property
    def leaves_in_parts(self) -> bool:
        """Whether a pool may be released in several batches, each with some people's messages."""
        return self.messages == 1 and not self.column.randomizer.needs_expected


def pools_of(columns: Sequence[Column]) -> tuple[Pool, ...]:
    """Pools of private columns: mostly one pool for a column, with one message of each person.

    Example:
        >>> from shuffledp.survey import Task
        >>> randomizer = {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"], "blanket": True}
        >>> asked = {"value": "smokes", "randomizer": randomizer | {"blanket_messages": 2.5}}
        >>> task = Task.from_dict({"name": "survey", "release": {"delta": 1e-6}} | asked)
        >>> [(pool.number, pool.messages) for pool in pools_of(task.columns)]
        [(0, 4)]
    """
    models = [(column, column.randomizer.randomizer().model) for column in columns]
    several = [
        (column, model.messages_per_round, number % model.num_hosts)
        for column, model in models
        for number in range(model.num_pools)
    ]
    return tuple(
        Pool(number=number, column=column, messages=each, host=host)
        for number, (column, each, host) in enumerate(several)
    )
