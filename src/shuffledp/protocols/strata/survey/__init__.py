"""Keys of a task file about strata."""
