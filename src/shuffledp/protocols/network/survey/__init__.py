"""Tables of a task file about walks.

In reading order: `walk_keys`, `network_section`.
"""
