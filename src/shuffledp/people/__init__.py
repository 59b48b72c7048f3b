"""Public structure among people: graphs along which reports walk. Families of protocols add groups and strata."""
