"""Graphs of people, along which reports walk.

Read `graph` first. `adjacency` reads, draws and searches edges, `spectrum` has the gap and the mixing time;
`connected_parts` describes the parts of a graph, and of several graphs that take turns. Overlays, which are contacts
chosen for walks, are in the family `network`.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
