"""Messages between the parties of a collection: encode and decode, seal and open; no I/O, no clock.

Read the files in this order: `presentation` (how messages are written), `grammar` (the messages), `report_bytes` (one
report as bytes of a fixed length), `kems` and `keys` (whose keys there are), `published_keys` (how they are named, and
follow each other), `hpke` (a report that the analyzer alone can read), `closing` (the request to end a collection).
What comes through a relay: `binary_http` (requests and answers as bytes), `hpke_context` and `oblivious_http` (sealed,
both ways). The page docs/protocol.md says the same to whoever writes another implementation.
"""
