"""Shuffle model of differential privacy: randomize on the device, shuffle, analyze, and state the guarantees.

The public names are listed in ``__init__.pyi``, in the order of the flow. Each is imported when it is first used, so
that importing the package costs nothing. Files here: `pipeline` (the whole flow in one call), `demo` (made-up people),
`testing` (random sources that can be replayed).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
