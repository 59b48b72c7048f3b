"""Joining of a batch's messages: senders are unknown, so each person gets random messages of every pool."""

from collections.abc import Sequence

import numpy as np

from shuffledp.core.errors import IncompleteSumError
from shuffledp.core.flow import Reports
from shuffledp.parties.service.batch_opening import OpenedBatch
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import RandomSource
from shuffledp.survey import Column


def joined_messages(opened: Sequence[OpenedBatch], *, source: RandomSource | None = None) -> OpenedBatch:
    """One batch from the batches of all pools, in which each person gets random messages of every pool.

    A message that came in the batch of another pool is malformed. Where some pool has messages of more senders than
    another one, or of no whole number of senders, as only devices that break the protocol cause, so many are left out,
    chosen at random, and counted as malformed too: what is left are messages of as many people.
    """
    model = opened[0].reports.model
    if model.num_messages == 1:
        return opened[0]
    kept, each = [], model.messages_per_round
    for number, batch in enumerate(opened):
        rounds = model.rounds(batch.reports.columns)
        rows = np.arange(len(batch.reports)) if rounds is None else np.flatnonzero(rounds == number)
        kept.append((batch.reports, rows[random_permutation(len(rows), source=source)]))
    people = min(len(rows) for _, rows in kept) // each
    came = -(-max(batch.num_reports for batch in opened) // each) * each  # whole people, if some messages are tests
    reports = Reports.concat([reports.take(rows[: people * each]) for reports, rows in kept])
    order = np.arange(len(reports)).reshape(len(kept), people, each).swapaxes(0, 1).ravel()
    return OpenedBatch(
        reports=reports.take(order),
        places=np.arange(people, dtype=np.int64),
        extensions=opened[0].extensions[:people],
        undecryptable=sum(batch.undecryptable for batch in opened),
        malformed=sum(batch.malformed + len(batch.reports) - people * each for batch in opened),
        duplicates=sum(batch.duplicates for batch in opened),
        tests=max(-(-batch.tests // each) for batch in opened),  # one test has all messages
        lost=sum(came - len(rows) for _, rows in kept),
    )


def require_all(column: Column, inside: OpenedBatch) -> None:
    """Refuse a sum with a missing or spoiled message if its result would be mere noise.

    Raises:
        IncompleteSumError: if a message did not open, was none of its pool, or came twice.
    """
    if not (inside.reports.model.is_all_or_nothing and inside.lost):
        return
    raise IncompleteSumError(
        f"the sum of column {column.value!r} needs every message of everybody once, and of its own round; "
        f"{inside.undecryptable} did not open, {inside.malformed} were not of their round or without their like in "
        f"another one, and {inside.duplicates} came twice. Without them the sum would be noise: nothing was released."
    )
