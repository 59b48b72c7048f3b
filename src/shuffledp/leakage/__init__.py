"""What an adversary learns: the expected gain of the best guess about one person, before and after a release."""

from shuffledp.leakage.bridge import (
    bridge_prior,
    delta_from_vulnerability,
    delta_of_pair,
    largest_delta,
    vulnerability_from_delta,
    worst_delta,
)
from shuffledp.leakage.iid import shuffled_fraction, shuffled_vulnerability
from shuffledp.leakage.max_load import binary_vulnerability, expected_max_load
from shuffledp.leakage.strong import strong_vulnerability, worst_strong_vulnerability
from shuffledp.leakage.target import target_vulnerability
from shuffledp.leakage.vulnerability import Vulnerability

__all__ = [
    "Vulnerability",
    "binary_vulnerability",
    "bridge_prior",
    "delta_from_vulnerability",
    "delta_of_pair",
    "expected_max_load",
    "largest_delta",
    "shuffled_fraction",
    "shuffled_vulnerability",
    "strong_vulnerability",
    "target_vulnerability",
    "vulnerability_from_delta",
    "worst_delta",
    "worst_strong_vulnerability",
]
