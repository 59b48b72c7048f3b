"""Graphs of people: their edges, their parts, and how fast walks on them forget where they began."""

from shuffledp.graphs.description import GraphDescription, describe_graph
from shuffledp.graphs.graph import Graph
from shuffledp.graphs.spectrum import certain_gap, lazy_gap, mixing_time

__all__ = ["Graph", "GraphDescription", "certain_gap", "describe_graph", "lazy_gap", "mixing_time"]
