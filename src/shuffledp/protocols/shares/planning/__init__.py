"""Planning of split and mix: the number of messages, with a certificate.

In reading order: `certified_messages`, `calibrated_bits`, `calibrated_vectors`; `sum_comparison` (all ways to a sum).
"""
