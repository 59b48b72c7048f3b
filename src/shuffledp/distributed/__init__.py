"""Tasks on PySpark, for tables too large for one machine.

Readers, randomizers and permutations are those of one machine.

In reading order: `kernels` (the work of a worker, without any engine), `shares`, `stage_input`, `job_key` and
`private_folder` (its input and randomness), `placements` and `view_orders` (where an order is more than chance),
`tasks` and `jobs` (as Spark calls it), `engine` (a whole task), `engine_stages` (one stage of it), `frames` (tasks from
Python), `session`. Only `session` and its callers need pyspark and Java.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
