"""Public structure among people: `graphs` of who passes reports to whom, `groups` of who belongs together, `strata`."""
