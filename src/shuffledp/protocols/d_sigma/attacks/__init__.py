"""Attacks on shuffles near an order: order games, inference from neighbors, and re-identification.

In reading order: `order_game` and `order_tracers` (losses of the order); `side_information`, `nearest_match`,
`neighborhoods` and `de_finetti` (answers of people), `evaluation`, `vote_vulnerability`, `pilot_attacks`;
`reidentification_game` and `reidentification_adversaries` (whose report is where).
"""

import shuffledp.attacks  # noqa: F401 - its registry imports modules from here, and must begin first
