"""Network shuffling: people pass encrypted reports on along random walks, and no shuffler is trusted.

Read ``laws`` (its module `walk` first) and ``people`` (overlays), then ``shufflers`` and ``theorems``; the rest is in
the order of `shuffledp.protocols`.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
