"""Public structure among people: `graphs` of who passes reports to whom, and `groups` of who belongs together."""
