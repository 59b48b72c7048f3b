"""Shared values of all parts of the library, without algorithms.

Guarantees first: `guarantees`, `order_laws`, `statement_terms`, `statements`. Then the descriptions that accounting
reads: `channels`, `shuffle_models`, `local_models`, `report_laws` and `lone_reports` (of one report), `sum_models`,
`tick_models`, `prefix_models`, `blanket_models`. Then data on their way: `table`, `estimates`, `flow`.

Shared habits: `errors`, `validate`, `text`, `text_codes` and `assigned_characters` (of short texts), `instants`,
`described` (serialization), `transitions` (of state machines), `caching` (of kernels, and of results) and
`upward_calls` (of higher layers, by name).
"""
