"""Planning: parameters, mechanism, randomizer or number of rounds for a wanted guarantee or error.

In reading order: `calibrate` (local loss, people), `mechanism_choice` (expected errors, sample size, ranking of
randomizers), `people_needed` (for intervals of a wanted width), `detectable_differences` (the least that is found),
`trusted_curator` (the error of one with the same guarantee), `guaranteed_leakage` (what can be guessed, under the
guarantee), `crowd_losses` (local losses by the number of people). Of single questions: `tick_comparison`,
`blanket_plan`, `word_plan` over `word_discovery`. Families of protocols add plans of their own (`family_plan`), from
their folders ``planning``. Nothing here needs a task file or data; each name is imported when it is first used.
"""

from shuffledp.protocols import face

__getattr__, __dir__, __all__ = face(__name__, __file__)
