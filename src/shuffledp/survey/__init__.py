"""Tasks: everything fixed before a collection begins, in a file that all parties can read, check and hash.

To be read in this order: `section` (a table of the file), `questions`, `shuffler_section`, `columns` (a private
column and all that is fixed for it), `task` (one column or more), `collection` (the file of a collection), `budget`
(losses that add up), `earlier` (releases before), `outcome` (what comes of it), `planning`, `task_audit`, `ledgers`.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

from shuffledp.protocols import face

__getattr__, __dir__, __all__ = face(__name__, __file__)
