"""Groups and places in words."""
