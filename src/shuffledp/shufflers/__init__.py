"""Shufflers: mechanisms that hide who sent which report, entirely or in part.

In reading order: `uniform` (and none), `stratified`, `reference_order` (base of `mallows` and `noisy_sort`,
`streaming`), `imperfect`, `parallel`, `walk_model`, `walk_dummies` and `random_walk` (network shuffling),
`relay_protocol` (one person's part in it), `shuffler_kinds` (the registry). Each name is imported when it is first
used.
"""

from shuffledp.protocols import face

__getattr__, __dir__, __all__ = face(__name__, __file__)
