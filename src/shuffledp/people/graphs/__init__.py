"""Graphs of people, along which reports walk.

Read `graph` first. `adjacency` reads, draws and searches edges, `spectrum` has the gap and the mixing time;
`connected_parts` describes a graph and cuts several that take turns. `overlays` are contacts chosen for walks,
and `group_rounds` tells of given groups whether they would do as well.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
