"""Additive shares: sums from messages, each uniform by itself, through imperfect or separate shuffles.

Read ``randomizers``, then ``shufflers``, ``analyzers`` and ``theorems``; the rest is in the order of
`shuffledp.protocols`.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
