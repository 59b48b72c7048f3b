"""Answers that are fractions where all that went in is, and floats of Python's own else."""

from fractions import Fraction
from typing import Any

__all__ = ["growth", "plain", "ratio"]


def plain(value: Any) -> Fraction | float:
    """A fraction as it is, anything else as a float."""
    return value if isinstance(value, Fraction) else float(value)


def growth(after: Fraction | float, before: Fraction | float) -> Fraction | float:
    """What seeing something adds, which is never negative, however floats are rounded."""
    return max(after - before, type(after)(0))


def ratio(after: Fraction | float, before: Fraction | float) -> Fraction | float:
    """What seeing something multiplies by, which is never less than 1, however floats are rounded."""
    return max(after / before, type(after)(1))
