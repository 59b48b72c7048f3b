"""Programs of a collection's parties: a shuffler, an analyzer, and clients of people who answer.

In reading order. Decisions without clock, disk or network: `intake` (store or refuse a submission), `batches` (when
reports leave), `batch_order` (in which order), `public_columns` (public data beside a report), `message_joining`
(messages of all pools).

The shuffler: `collection_terms`, `upload_layout`, `report_store` (its memory), `report_queue` (many requests, one write
to the disk), `collection_at_shuffler`, `served_collections`, `gateway` (requests through a relay), `shuffler_app` (all
over HTTP), `forwarder` (batches on their way). Hosts of a sum: `share_store`, `host_agreement`. Relays:
`oblivious_relay`, `loopback_relay` (for demonstrations).

The analyzer: `batch_store` (each batch once), `seen_reports`, `batch_opening`, `batch_release`,
`collection_at_analyzer`, `analyzer_app`; without an address of its own: `fetcher`, `fetched_batches`,
`awaited` (whom a fetch waits for), `fetched_release`.

All, and the issuer beside them: `config`, `run_services`, `demonstration`. People: `client` (seal and send),
`share_uploads` (to several hosts), `local_intake` (for pages that cannot encrypt), `device_memory` and `device_token`
(what a device keeps).
"""
