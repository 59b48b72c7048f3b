"""Groups of people by public information, reference orders that keep groups together, and their sensitivity.

Read `assignment` first (over `public_points`), then `sensitivity` and `orders`; `group_digest`; `layout` holds the
compiled pass along an order, and a local search for a better one.
"""
