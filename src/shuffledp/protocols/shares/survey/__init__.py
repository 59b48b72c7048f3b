"""Tables of a task file about sums from shares.

In reading order: `protocol_section` (their base), `split_and_mix_section`, `vector_sum_section`,
`counted_bits_section`; `two_answers`; `first_sums` (tables to begin with). All are imported here so that their kinds
are known.
"""

from shuffledp.protocols.shares.survey import counted_bits_section, split_and_mix_section, vector_sum_section  # noqa: F401
