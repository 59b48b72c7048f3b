"""Shared values of all parts of the library, without algorithms.

Read what is promised first: `guarantees`, `statement_terms`, `statements`. Then what accounting reads: `channels`,
`shuffle_models`, `local_models`, `sum_models`. Then what passes from hand to hand: `table`, `estimates`, `flow`. The
habits of the house are `errors`, `validate`, `text`, `described` (serialization) and `caching` (of kernels, and of
results).
"""
