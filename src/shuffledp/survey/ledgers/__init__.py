"""Privacy ledgers: what the releases about one population may lose together, and have lost.

In reading order: `ledger_lines` (reservations, releases, and reservations taken back), `ledger` (their sums against
the cap), `ledger_charges` (what a task is charged). Files that hold them are those of `files`.
"""
