"""Planning of shuffles near a reference order: the mixing of groups."""
