"""Groups and places in words.

In reading order: `mixing_document` and `promises_document` (plans), `sought_document` and `exploration_document`
(settings), `place_document` and `sharpened_document` (releases).
"""
