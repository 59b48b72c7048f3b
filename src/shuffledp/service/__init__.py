"""The parties of a collection as programs: a shuffler that loses nothing, an analyzer, and whoever answers.

To be read in this order. What is decided, without clock, disk or network: `intake` (what becomes of a submission),
`batches` (when reports leave), `batch_order` (in which order), `public_columns` (what travels beside a report).

The shuffler: `store` and `sqlite_store` (what it remembers), `group_commit` (many requests, one write to the disk),
`desk` (a collection at work), `gateway` (what comes through a relay), `shuffler_app` (the same over HTTP), `forwarder`
(batches on their way).

The analyzer: `batch_store` (each batch once), `opening`, `releasing`, `reception` (a collection at work),
`analyzer_app`.

The issuer: `invitations` (one for each person), `invited_lists`, `issuer_store` (which were used), `issuer_app`.

All: `config`, `event_log` (all that is ever logged), `http_messages`, `connections` (their limits), `serving`,
`running`.
People: `client` (seal and send), `relayed` (through a relay), `answered` and `own_token` (what a device
remembers).
"""
