"""Tables of a task file about walks."""
