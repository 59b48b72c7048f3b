"""Privacy ledgers: the cap on the loss of all releases about one population, and the losses so far.

In reading order: `ledger_lines` (reservations, releases, and reservations taken back), `ledger` (their sums against
the cap), `ledger_charges` (what a task is charged). Files that hold them are those of `files`.
"""
