"""The shuffler by random walks, its model, and one person's part in it.

In reading order: `random_walk` (the shuffler), `walk_model`, `walk_checks` (of inputs), `walk_hand_in`;
`relay_protocol` (one person's steps).
"""
