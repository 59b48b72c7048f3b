"""Walks in words and pictures.

In reading order: `network_document` (plans and releases), `walk_blocks` and `walk_charts` (its parts),
`overlay_document`, `traffic_document`.
"""
