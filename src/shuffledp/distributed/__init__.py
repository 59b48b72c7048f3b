"""A task on PySpark, for tables that have outgrown one machine: the same readers, randomizers and permutations.

To be read in this order: `kernels` (what a worker does, without any engine), `shares`, `stage_input` and `job_key`
(what it reads, and draws from), `placements` and `placing` (where an order is more than chance), `tasks` and `jobs` (as
Spark calls it), `engine` (a whole task), `engine_stages` (one stage of it), `session`. Only `session`, and whoever
calls it, needs pyspark and Java.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
