"""Documents: the words of each result, and how a terminal and a page show them.

In reading order: `document` and `blocks` (the parts), `words`.

* Words of results: `statement_document` and `release_document` first; `result_document`, `estimate_document` and
  `estimate_forms`, `histogram_document`, `cross_table_document`, `open_answers_document`, `follow_up_document`,
  `comparison_document`; `flow_document` (people and reports), `provenance_document`, `family_document`.
* Words before and beside a release: `account_document`, `leakage_document`, `audit_document`, `ledger_document`.
* Output: `terminal`, `page`, and `rendering` (charts as figures).

Nothing is imported here: a command needs few of them.
"""
