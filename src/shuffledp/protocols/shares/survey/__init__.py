"""Tables of a task file about sums from shares."""

from shuffledp.protocols.shares.survey import counted_bits_section, vector_sum_section  # noqa: F401 - so that kinds are known
