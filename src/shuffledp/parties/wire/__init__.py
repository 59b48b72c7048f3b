"""Messages between the parties of a collection: encode and decode, seal and open; no I/O, no clock.

In reading order: `presentation` (how messages are written), `grammar` (the messages), `report_bytes` (one report as
bytes of a fixed length), `kems` and `keys` (whose keys there are), `published_keys` (how they are named, and follow
each other), `hpke` (a report that the analyzer alone can read), `tokens` over `blind_rsa` (one person, one answer).

Signed requests: `close_request` (the end of a collection), `fetch_request` (the next batch), `agreement_messages`
(hosts of a sum); at a mix `mix_terms`, `registrant_proofs`, `organizer_requests`, `published_result`. Through a relay:
`binary_http` (requests and answers as bytes), `hpke_context` and `oblivious_http` (sealed, both ways). The page
docs/protocol.md says the same to whoever writes another implementation.
"""
