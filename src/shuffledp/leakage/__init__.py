"""Leakage: how much better somebody guesses a secret after seeing what a channel, or a protocol, shows.

`bayes` counts right guesses and `gain` whatever a table says that guesses are worth, with the same verbs in each.
`shuffle_channels` writes small protocols out as channels.
"""

from shuffledp.leakage import bayes, gain, shuffle_channels
from shuffledp.leakage.inferential import inferential_loss, joint_prior, record_channel, record_prior

__all__ = [
    "bayes",
    "gain",
    "inferential_loss",
    "joint_prior",
    "record_channel",
    "record_prior",
    "shuffle_channels",
]
