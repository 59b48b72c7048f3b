"""Planning: parameters, mechanism, randomizer or number of rounds for a wanted guarantee or error.

In reading order: `calibrate` (local loss, people), `certified_messages` (split and mix), `mechanism_choice` (expected
errors, sample size, ranking of randomizers; Mallows or noisy sort), `people_needed` (for intervals of a wanted width),
`network_rounds` (the fewest rounds of a network shuffle), `network_plan` (what each number of rounds gives and costs),
`overlay_plan` and `overlay_designs` (walks on overlays, and which
to choose), `group_mixing` (how a shuffle mixes given groups), `guaranteed_leakage` (what can be guessed, under the
guarantee). Nothing here needs a task file or data; each name is imported when it is first used.
"""

from shuffledp.protocols import face

__getattr__, __dir__, __all__ = face(__name__, __file__)
