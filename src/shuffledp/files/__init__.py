"""Files of answers (CSV or Parquet), reports and views (Parquet), and a task's stages between them.

To be read in this order: `stages` (the whole flow), `reading` (columns in batches), `answer_reader`
and `randomizing` (answers to reports), `people_files` (graphs and groups), `family_files`,
`shuffling`, `releases`, `parquet` (reports and views), `writing` (output that is whole), `matrices`.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
