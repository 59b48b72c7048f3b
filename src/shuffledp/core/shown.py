"""The one arrow upward: tasks run, and values show and save themselves, by what lies above them and is named here.

Nothing is loaded before it is asked for. What a value is worth knows nothing of how it is shown.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

# What can be asked for, and the function that does it.
ABOVE = {
    "run": "shuffledp.files.tables.run",
}


def above(what: str) -> Callable[..., Any]:
    """The function that does it."""
    module, _, name = ABOVE[what].rpartition(".")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
