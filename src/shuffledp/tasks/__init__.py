"""Tasks: what is fixed before a collection begins, in a file that all parties can read, check and hash."""

from shuffledp.tasks.numbers import (
    DiscreteLaplaceMeanSection,
    NumberSection,
    OneBitMeanSection,
    OutOfRange,
    PrivUnitSection,
    RoundedMeanSection,
)
from shuffledp.tasks.outcome import DataFlow, Outcome, StageOutcome
from shuffledp.tasks.randomizers import Category, KaryRandomizedResponseSection, RandomizerSection
from shuffledp.tasks.shufflers import IdentitySection, ShufflerSection, UniformSection
from shuffledp.tasks.task import Missing, PeopleSection, ReleaseSection, Task

__all__ = [
    "Category",
    "DataFlow",
    "DiscreteLaplaceMeanSection",
    "IdentitySection",
    "KaryRandomizedResponseSection",
    "Missing",
    "NumberSection",
    "OneBitMeanSection",
    "OutOfRange",
    "Outcome",
    "PeopleSection",
    "PrivUnitSection",
    "RandomizerSection",
    "ReleaseSection",
    "RoundedMeanSection",
    "ShufflerSection",
    "StageOutcome",
    "Task",
    "UniformSection",
]
