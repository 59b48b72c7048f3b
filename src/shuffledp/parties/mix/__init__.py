"""Mix host: shuffles the answers of registered collections, hands the answers over, and forgets them.

In reading order: `mix_config` (what an operator writes), `registration_rules` and `page_inspection` (which collections
it takes), `mix_folder` (what it keeps), `collection_at_mix` and `mix_host` (one, and all, at work), `mix_app` (its
addresses), `run_mix`. When a batch is handed over is decided by the shuffler inside each collection:
`shuffledp.parties.service.batches`.
"""
