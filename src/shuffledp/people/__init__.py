"""Public structure among people: `graphs` for passing reports on, `groups` to hide in, and `strata`."""
