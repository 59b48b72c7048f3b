"""Family of protocols made for tests: a shuffle after a shuffle."""
