"""Tables of a task file about sums from shares.

All are imported here so that their kinds are known.
"""

from shuffledp.protocols.shares.survey import counted_bits_section, split_and_mix_section, vector_sum_section  # noqa: F401
