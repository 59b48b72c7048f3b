"""Random sources that can be replayed, for tests and experiments."""

from shuffledp.randomness.replayable import RecordedSource, SeededSource

__all__ = ["RecordedSource", "SeededSource"]
