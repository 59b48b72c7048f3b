"""Leakage: how much better somebody guesses a secret after seeing what a channel, or a protocol, shows.

`bayes` counts right guesses and `gain` whatever a table says that guesses are worth, with the same verbs in each.
`shuffle_channels` writes small protocols out as channels, and `target_vulnerability` answers for protocols of any size.
"""

from shuffledp.leakage import bayes, gain, shuffle_channels, wording
from shuffledp.leakage.bridge import (
    bridge_prior,
    delta_from_vulnerability,
    delta_of_pair,
    largest_delta,
    vulnerability_from_delta,
    worst_delta,
)
from shuffledp.leakage.examining import Capacity, TargetExamination, examine_target, target_capacity
from shuffledp.leakage.guessing import BestGuess, best_guesses
from shuffledp.leakage.iid import METHODS, shuffled_fraction, shuffled_vulnerability
from shuffledp.leakage.inferential import inferential_loss, joint_prior, record_channel, record_prior
from shuffledp.leakage.max_load import binary_vulnerability, expected_max_load
from shuffledp.leakage.strong import strong_vulnerability, worst_strong_vulnerability
from shuffledp.leakage.target import target_vulnerability, worst_exchange_vulnerability
from shuffledp.leakage.vulnerability import Vulnerability
from shuffledp.leakage.ways import Comparison, Way, compare_ways

__all__ = [
    "METHODS",
    "BestGuess",
    "Capacity",
    "Comparison",
    "TargetExamination",
    "Vulnerability",
    "Way",
    "bayes",
    "best_guesses",
    "binary_vulnerability",
    "bridge_prior",
    "compare_ways",
    "delta_from_vulnerability",
    "delta_of_pair",
    "examine_target",
    "expected_max_load",
    "gain",
    "inferential_loss",
    "joint_prior",
    "largest_delta",
    "record_channel",
    "record_prior",
    "shuffle_channels",
    "shuffled_fraction",
    "shuffled_vulnerability",
    "strong_vulnerability",
    "target_capacity",
    "target_vulnerability",
    "vulnerability_from_delta",
    "wording",
    "worst_delta",
    "worst_exchange_vulnerability",
    "worst_strong_vulnerability",
]
