"""Split and mix: the randomizer of additive shares."""
