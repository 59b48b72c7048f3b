"""Groups and places in words.

In reading order: `mixing_document` and `promises_document` (plans), `sought_document`, `exploration_document` and
`dot_names` (settings), `place_document` and `sharpened_document` (releases).
"""
