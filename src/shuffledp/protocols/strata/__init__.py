"""Stratified shuffling: a uniform shuffle inside each stratum, whose region or weight is public.

Read ``people`` (how strata are made), then ``shufflers``, ``analyzers`` and ``theorems``; the rest is in the order of
`shuffledp.protocols`.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
