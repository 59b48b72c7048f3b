"""Shufflers: mechanisms that hide the senders of reports, entirely or in part.

In reading order: `uniform` (and none), `shuffler_kinds` (the registry). Families of protocols add shufflers of their
own, from their folders ``shufflers``. Each name is imported when it is first used.
"""

from shuffledp.protocols import face

__getattr__, __dir__, __all__ = face(__name__, __file__)
