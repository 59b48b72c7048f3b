"""Groups of people by public information, orders that keep groups together, and what an order costs."""

from shuffledp.groups.assignment import Groups
from shuffledp.groups.orders import reference_order
from shuffledp.groups.sensitivity import (
    Blocks,
    Windows,
    blocks,
    order_sensitivity,
    order_width,
    position_spreads,
    windows,
)

__all__ = [
    "Blocks",
    "Groups",
    "Windows",
    "blocks",
    "order_sensitivity",
    "order_width",
    "position_spreads",
    "reference_order",
    "windows",
]
