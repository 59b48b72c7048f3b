"""Tasks: everything fixed before a collection begins, in a file that all parties can read, check and hash.

In reading order: `section` (a table of the file), `questions`, `follow_up`, `shuffler_section`, `columns` (a private
column and all that is fixed for it), `comparisons`, `task` (one column or more), `task_templates` (first task files),
`planning`, `task_audit`.

* Of a collection: `collection` (its file), `parties`, `addresses`, `bound_directory`, `pools`, `solved_models`,
  `trusted_parties`, `web_page`; `survey_terms` and `asked_questions` (a survey's organizer).
* Of a release: `outcome` (what comes of a task), `data_flow`, `shuffle_result`; `budget` (losses that add up) and
  `ledgers`; `earlier` (releases before) over `statement_file` and `released_numbers`.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

from shuffledp.protocols import face

__getattr__, __dir__, __all__ = face(__name__, __file__)
