"""Pauses between failed attempts, of random length so that clients do not all ask at once."""

import secrets


class Pauses:
    """Pauses that double with each failure, each times a random factor from 0.5 to 1.5.

    The factor hides the cause of the failure.

    Guarantees:
        1. No pause is longer than 1.5 times ``longest``.

    Args:
        first: seconds of the first pause, before the factor.
        longest: seconds that no pause is above, before the factor.

    Example:
        >>> pauses = Pauses(1.0, 3.0)
        >>> 0.5 <= pauses.next() <= 1.5
        True
        >>> 1.0 <= pauses.next() <= 3.0
        True
        >>> 1.5 <= pauses.next() <= 4.5
        True
        >>> pauses.begin_anew()
        >>> pauses.next() <= 1.5
        True
    """

    def __init__(self, first: float, longest: float) -> None:
        self._first, self._longest = first, longest
        self.begin_anew()

    def begin_anew(self) -> None:
        """Make the next pause as short as the first, after a successful attempt."""
        self._seconds = self._first

    def next(self) -> float:
        """Seconds of the next pause."""
        seconds = self._seconds * (0.5 + secrets.randbelow(1000) / 1000)
        self._seconds = min(2 * self._seconds, self._longest)
        return seconds
