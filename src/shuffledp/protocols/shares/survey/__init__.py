"""Tables of a task file about sums from shares."""
