"""Tasks: everything fixed before a collection begins, in a file that all parties can read, check and hash.

To be read in this order: `section` (a table of the file), `questions`, `protocol_section`, `shuffler_section`,
`stratified_section`, `groups` and `network_section`, `columns` (a private column and all that is fixed for it), `task`
(one column or more), `budget` (losses that add up), `earlier` (releases before), `outcome` (what comes of it),
`task_planning`, `weekly_planning`, `task_audit`.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

from shuffledp.protocols import face

__getattr__, __dir__, __all__ = face(__name__, __file__)
