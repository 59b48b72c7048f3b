"""Mallows shuffle of more reports than fit in memory, which arrive in batches in the reference order."""

from collections.abc import Iterator

import numpy as np

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, LocalProtocolError, UnsupportedModelError
from shuffledp.core.flow import Reports, View
from shuffledp.core.table import Integers
from shuffledp.laws import MallowsStream
from shuffledp.randomness.sources import RandomSource, resolve_source
from shuffledp.shufflers.mallows import MallowsShuffler


class MallowsReportStream:
    """Stream of a Mallows shuffle, for reports that arrive in the reference order.

    First comes the report of the person at rank 0, ``shuffler.prepare().order[0]``, and so on. Slots are filled in the
    same order, each as soon as it is known which of the reports goes there.

    Guarantees:
        1. All parts together are a view with the law, the model and the statements of the shuffler itself.
        2. Only reports that wait are kept, beside a few numbers for each person. With concentration theta more than
           ln(n / p) / theta wait with probability p at most (`shuffledp.laws.stream_buffer`), and never more than a
           block has people and a batch brings; at concentration 0 a whole block waits.
        3. How many slots are filled when depends on the secret draw: show the complete view alone, never the sizes of
           its parts or the times at which they came.

    Args:
        shuffler: of Kendall's distance.
        source: randomness; None is the cryptographic source.

    Raises:
        InvalidParameterError: if it is no Mallows shuffler.
        UnsupportedModelError: for another distance, which moves reports as far as a block reaches.

    Example:
        >>> from shuffledp import Groups, KaryRandomizedResponse
        >>> shuffler = MallowsShuffler(groups=Groups.from_radius(np.arange(100), 2), alpha=4.0)
        >>> arriving = KaryRandomizedResponse(epsilon0=1.0, domain_size=3).randomize([1] * 100)
        >>> stream = MallowsReportStream(shuffler)
        >>> parts = [stream.take(arriving.take(slice(0, 60))), stream.take(arriving.take(slice(60, 100)))]
        >>> stream.finish()
        >>> sum(len(part) for part in parts)
        100
    """

    def __init__(self, shuffler: MallowsShuffler, *, source: RandomSource | None = None) -> None:
        validate.instance_of(MallowsShuffler, shuffler=shuffler)
        if shuffler.distance != "kendall":
            raise UnsupportedModelError(f"a stream needs Kendall's distance; got distance={shuffler.distance!r}.")
        self._prepared = shuffler.prepare()
        self._source = resolve_source(source)
        self._waiting: Reports | None = None
        self._ranks = np.empty(0, dtype=np.int64)  # of those that wait, ascending
        self._arrived = self._left = self._block = 0
        self._stream: MallowsStream | None = None

    @property
    def num_waiting(self) -> int:
        """Number of reports in the buffer, which depends on the secret draw."""
        return self._ranks.size

    def take(self, reports: Reports) -> View:
        """Add the next reports of the reference order.

        Args:
            reports: one per person, any number of them.

        Returns:
            The slots that are filled now, labelled by person; possibly none.

        Raises:
            InvalidParameterError: if there are more reports than people, or they are of another randomizer.
            UnsupportedModelError: if people send several reports each.
        """
        if reports.model.num_messages != 1:
            raise UnsupportedModelError(f"a stream needs one report per person; got {reports.model.num_messages} each.")
        people = self._prepared.order.size
        if self._arrived + len(reports) > people:
            raise InvalidParameterError(f"reports must be of {people} people; got {self._arrived + len(reports)}.")
        if self._waiting is not None and self._waiting.model != reports.model:
            raise InvalidParameterError("reports must all be of one randomizer; got those of another one.")
        here = reports if self._waiting is None else Reports.concat([self._waiting, reports])
        ranks = np.append(self._ranks, np.arange(self._arrived, self._arrived + len(reports)))
        leaving = np.concatenate([np.empty(0, dtype=np.int64), *self._leaving(len(reports))])
        places = np.searchsorted(ranks, leaving)
        stay = np.delete(np.arange(ranks.size), places)
        self._waiting, self._ranks = here.take(stay), ranks[stay]
        slots = self._prepared.order[self._left : self._left + leaving.size]
        self._left += leaving.size
        return View(reports=here.take(places), labels=slots, shuffle=self._prepared.model, source=self._source)

    def finish(self) -> None:
        """Check that all reports have arrived; then all slots are filled.

        Raises:
            LocalProtocolError: if some are missing.
        """
        people = self._prepared.order.size
        if self._arrived < people:
            raise LocalProtocolError(f"the stream needs the reports of {people} people; {self._arrived} have arrived.")

    def _leaving(self, count: int) -> Iterator[Integers]:
        """Ranks whose reports leave now, in order; a complete block leaves as a whole."""
        starts, thetas = self._prepared.starts, self._prepared.parameters
        while count:
            start, stop = int(starts[self._block]), int(starts[self._block + 1])
            if self._stream is None:
                self._stream = MallowsStream(float(thetas[self._block]), source=self._source)
            now = min(count, stop - self._arrived)
            yield start + self._stream.take(now)
            self._arrived, count = self._arrived + now, count - now
            if self._arrived == stop:
                yield start + self._stream.finish()
                self._stream, self._block = None, self._block + 1
