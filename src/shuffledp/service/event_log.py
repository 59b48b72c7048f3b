"""The only things that a service writes to its log: events from a short list, each with a count.

What logging must not hold (addresses, times of people, ids, ciphertexts, paths, the text of an error) cannot be passed
to it. Arrivals are no events: a log with their times would be the order that shuffling hides.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable
from enum import StrEnum


class Happened(StrEnum):
    """Vocabulary of the log."""

    STARTED = "started"
    STOPPED = "stopped"
    CLOSING = "closing"
    BATCH_MADE = "batch-made"
    BATCH_FAILED = "batch-failed"
    NOT_RELEASED = "not-released"
    SEEN_NOT_RELEASED = "seen-not-released"
    DELIVERED = "delivered"
    DELIVERY_FAILED = "delivery-failed"
    BATCH_RECEIVED = "batch-received"
    BATCH_REFUSED = "batch-refused"
    RELEASED = "released"
    RELEASE_FAILED = "release-failed"
    STAGE_ENDED = "stage-ended"
    LISTS_TAKEN = "lists-taken"
    LISTS_REFUSED = "lists-refused"
    CANCELLED_TOO_LATE = "cancelled-too-late"
    STORAGE_FAILED = "storage-failed"
    WARNED_BY_LIBRARY = "warned-by-library"
    FAILED_IN_LIBRARY = "failed-in-library"


class EventLog:
    """Writes each event as a line of JSON: ``{"event": "batch-made", "count": 5000}``.

    Args:
        write: takes a line, such as ``sys.stderr.write``.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._later: Counter[Happened] = Counter()
        self._going_on: set[Happened] = set()  # of what is told at first, since the last but one flush

    def __call__(self, event: Happened, count: int = 1) -> None:
        """Write one line; ``count`` is of reports, attempts or collections, as the event has it."""
        self._write(json.dumps({"event": event.value, "count": int(count)}) + "\n")

    def later(self, event: Happened, count: int = 1) -> None:
        """Count what happens when somebody asks for something: by itself, its time would be that of a person."""
        self._later[event] += count

    def at_first(self, event: Happened) -> None:
        """Write one line when something begins, such as that the disk is full; what follows is counted, as `later`.

        It is over when a minute has passed without it.
        """
        if event in self._going_on:
            self.later(event)
        else:
            self(event)
        self._going_on.add(event)

    def flush(self) -> None:
        """Write what was counted, one line for each kind of event; to be called now and then."""
        for event, count in sorted(self._later.items()):
            self(event, count)
        self._going_on &= set(self._later)  # what went on is not over
        self._later.clear()

    def instead_of_others(self) -> None:
        """From now on no library of this process logs anything but that it did: its texts may hold addresses."""
        root = logging.getLogger()
        root.handlers[:] = [_Silent(self)]
        for name in list(logging.root.manager.loggerDict):
            logger = logging.getLogger(name)
            logger.handlers.clear()
            logger.propagate = True


class _Silent(logging.Handler):
    """Handler that says that there was a record, and not what."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """One event for each record."""
        failed = record.levelno >= logging.ERROR
        self._log.later(Happened.FAILED_IN_LIBRARY if failed else Happened.WARNED_BY_LIBRARY)
