"""Tables of a task file about sums from shares."""

from shuffledp.protocols.shares.survey import counted_bits_section  # noqa: F401 - its kind is then known
