"""Log of a service: only events from a short list, each with a count.

Data that must not be logged (addresses, times of people, ids, ciphertexts, paths, texts of errors) cannot be passed
to the log. Arrivals are no events: a log with their times would be the order that shuffling hides.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable
from enum import StrEnum


class Happened(StrEnum):
    """Kinds of events in the log."""

    STARTED = "started"
    STOPPED = "stopped"
    CLOSING = "closing"
    BATCH_MADE = "batch-made"
    BATCH_FAILED = "batch-failed"
    DISAGREED = "disagreed"
    NOT_RELEASED = "not-released"
    SEEN_NOT_RELEASED = "seen-not-released"
    DELIVERED = "delivered"
    DELIVERY_FAILED = "delivery-failed"
    NOT_FETCHED = "not-fetched"
    FETCH_FAILED = "fetch-failed"
    BATCH_MISSING = "batch-missing"
    BATCH_RECEIVED = "batch-received"
    BATCH_REFUSED = "batch-refused"
    RELEASED = "released"
    RELEASE_FAILED = "release-failed"
    STAGE_ENDED = "stage-ended"
    LISTS_TAKEN = "lists-taken"
    LISTS_REFUSED = "lists-refused"
    CERTIFICATE_TAKEN = "certificate-taken"
    CERTIFICATE_REFUSED = "certificate-refused"
    CANCELLED_TOO_LATE = "cancelled-too-late"
    REGISTERED = "registered"
    ENDED_BY_OPERATOR = "ended-by-operator"
    STORAGE_FAILED = "storage-failed"
    WARNED_BY_LIBRARY = "warned-by-library"
    FAILED_IN_LIBRARY = "failed-in-library"


class EventLog:
    """Writer of events as lines of JSON, such as ``{"event": "batch-made", "count": 5000}``.

    Args:
        write: function that takes a line, such as ``sys.stderr.write``.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._later: Counter[Happened] = Counter()
        self._going_on: set[Happened] = set()  # events written by `at_first` since the last flush but one

    def __call__(self, event: Happened, count: int = 1) -> None:
        """Write one line for an event; ``count`` is the number of reports, attempts or collections."""
        self._write(json.dumps({"event": event.value, "count": int(count)}) + "\n")

    def later(self, event: Happened, count: int = 1) -> None:
        """Count an event caused by a person's request, to be written later.

        The time of writing would otherwise be the time of the person's request.
        """
        self._later[event] += count

    def at_first(self, event: Happened) -> None:
        """Write one line when a condition begins, such as a full disk; repeats are counted by `later`.

        The condition ends when a minute has passed without a repeat.
        """
        if event in self._going_on:
            self.later(event)
        else:
            self(event)
        self._going_on.add(event)

    def flush(self) -> None:
        """Write the counts so far, one line for each kind of event; call it regularly."""
        for event, count in sorted(self._later.items()):
            self(event, count)
        self._going_on &= set(self._later)  # repeated conditions go on
        self._later.clear()

    def instead_of_others(self) -> None:
        """Replace all libraries' logs in this process by counts of records.

        The texts of the records may hold addresses.
        """
        root = logging.getLogger()
        root.handlers[:] = [_Silent(self)]
        for name in list(logging.root.manager.loggerDict):
            logger = logging.getLogger(name)
            logger.handlers.clear()
            logger.propagate = True


class _Silent(logging.Handler):
    """Log handler that counts records and drops their text."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Count one event for each record."""
        failed = record.levelno >= logging.ERROR
        self._log.later(Happened.FAILED_IN_LIBRARY if failed else Happened.WARNED_BY_LIBRARY)
