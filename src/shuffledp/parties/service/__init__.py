"""Parties of a collection as programs: a shuffler, an analyzer, an issuer, and clients of people who answer.

In reading order. Decisions without clock, disk or network: `intake` (store or refuse a submission),
`batches` (when reports leave), `batch_order` (in which order), `public_columns` (public data beside a report).

The shuffler: `report_store` (its memory), `report_queue` (many requests, one write to the disk),
`collection_at_shuffler`, `gateway` (requests through a relay), `shuffler_app` (all over HTTP), `forwarder`
(batches on their way).

The analyzer: `batch_store` (each batch once), `batch_opening`, `batch_release`, `collection_at_analyzer`,
`analyzer_app`.

The issuer: `invitations` (one for each person), `invited_lists`, `issuer_store` (which were used), `issuer_app`.

All: `config`, `event_log` (all that is ever logged), `http_messages`, `connections` (their limits), `serving`,
`run_services`.
People: `client` (seal and send), `oblivious_transport` (through a relay),
`device_memory` and `device_token` (what a device keeps).
"""
