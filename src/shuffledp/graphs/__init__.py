"""Graphs of people: their edges, their parts, and how fast walks on them forget where they began."""

from shuffledp.graphs.description import GraphDescription, PartDescription, describe_graph, largest_parts
from shuffledp.graphs.graph import Graph
from shuffledp.graphs.spectrum import certain_gap, lazy_gap, mixing_time
from shuffledp.graphs.union import union

__all__ = [
    "Graph",
    "GraphDescription",
    "PartDescription",
    "certain_gap",
    "describe_graph",
    "largest_parts",
    "lazy_gap",
    "mixing_time",
    "union",
]
