"""Groups of people by public information, reference orders that keep groups together, and their sensitivity.

Read `assignment` first (over `public_points`), then `sensitivity` and `orders`; `layout` holds the compiled pass along
an order, and a local search for a better one.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
