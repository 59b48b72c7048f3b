# The public names of this package; each is imported when it is first used.
from .connected_parts import GraphDescription as GraphDescription
from .connected_parts import PartDescription as PartDescription
from .connected_parts import describe_graph as describe_graph
from .connected_parts import largest_parts as largest_parts
from .graph import Graph as Graph
from .graph import union as union
from .spectrum import certain_gap as certain_gap
from .spectrum import lazy_gap as lazy_gap
from .spectrum import mixing_time as mixing_time
