"""Public structure among people: graphs along which reports walk, groups, and strata."""
