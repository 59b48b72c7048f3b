"""d_sigma-private shuffling: the order inside groups stays hidden, while trends across groups can be learned.

Read ``people`` (groups and reference orders), then ``shufflers``, ``laws`` (their losses) and ``theorems``; the rest is
in the order of `shuffledp.protocols`. The orders themselves are drawn in `shuffledp.laws`.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
