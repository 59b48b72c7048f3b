"""Programs of a collection's parties: a shuffler, an analyzer, and clients of people who answer.

In reading order. Decisions without clock, disk or network: `intake` (store or refuse a submission),
`batches` (when reports leave), `batch_order` (in which order), `public_columns` (public data beside a report).

The shuffler: `report_store` (its memory), `report_queue` (many requests, one write to the disk),
`collection_at_shuffler`, `gateway` (requests through a relay), `shuffler_app` (all over HTTP), `forwarder`
(batches on their way).

The analyzer: `batch_store` (each batch once), `batch_opening`, `batch_release`, `collection_at_analyzer`,
`analyzer_app`.

All, and the issuer beside them: `config`, `run_services`.
People: `client` (seal and send), `device_memory` and `device_token` (what a device keeps).
"""
