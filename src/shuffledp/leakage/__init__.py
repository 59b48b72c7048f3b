"""What an adversary learns: the expected gain of the best guess about one person, before and after.
"""

from shuffledp.leakage.iid import shuffled_fraction, shuffled_vulnerability
from shuffledp.leakage.max_load import binary_vulnerability, expected_max_load
from shuffledp.leakage.vulnerability import Vulnerability

__all__ = [
    "Vulnerability",
    "binary_vulnerability",
    "expected_max_load",
    "shuffled_fraction",
    "shuffled_vulnerability",
]
