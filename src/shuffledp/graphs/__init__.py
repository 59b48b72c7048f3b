"""Graphs of people: their edges, their parts, and how fast walks on them forget where they began."""

from shuffledp.graphs.graph import Graph
from shuffledp.graphs.spectrum import lazy_gap, mixing_time

__all__ = ["Graph", "lazy_gap", "mixing_time"]
