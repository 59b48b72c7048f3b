"""Answers that are fractions where all that went in is, and floats of Python's own else."""

from fractions import Fraction
from typing import Any

__all__ = ["plain"]


def plain(value: Any) -> Fraction | float:
    """A fraction as it is, anything else as a float."""
    return value if isinstance(value, Fraction) else float(value)
