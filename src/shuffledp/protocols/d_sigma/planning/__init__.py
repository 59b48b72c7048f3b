"""Planning of shuffles near a reference order: how groups mix."""
