"""Files of answers (CSV or Parquet), reports and views (Parquet), and a task's stages between them.

In reading order: `stages` (the whole flow, with `collection_release` for reports of a service and `tables` for data in
memory).

* Answers: `reading` (columns in batches), `table_files`, `named_columns`, `numerals`, `tick_parts`, `row_problems`;
  `answer_reader` and `randomizing` (answers to reports), `devices`; `answer_inspection` (for a first task file).
* Shuffles: `people_files` (graphs and groups), `family_files`, `shuffling`.
* Releases: `releases`, `unreleased_statement`, `writing` (output that is whole), `ledger_file` and `ledger_use`.
* Formats: `parquet` (reports and views), `parts_folder`, `file_facts`, `key_files`, `matrices`.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
