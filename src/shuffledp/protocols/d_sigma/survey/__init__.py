"""Tables of a task file about groups."""
