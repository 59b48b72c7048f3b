"""Durable stores shared by all parties: acknowledged data is on the disk, and outlives a killed process.

In reading order: `database` (an SQLite file: opened, locked, written to in transactions), `group_commit` (one thread
for each store, and one write for all requests that wait), `private_files` (single files, whole or absent) and
`digest_keys` (keyed digests, and keys that are destroyed). Which tables there are, each party says itself.
"""
