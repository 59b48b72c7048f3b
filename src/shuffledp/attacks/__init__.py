"""Attacks: what somebody who wants to know does with a view. They read views and models, and never the accounting.

The claims that an attack is held against come in as arguments, so that neither can be fitted to the other.
"""

from shuffledp.attacks.audit import audit
from shuffledp.attacks.findings import AuditReport, Evidence, Finding, Mode, Verdict
from shuffledp.attacks.inputs import NeighboringInputs
from shuffledp.attacks.known_games import DEFAULT_TRIALS
from shuffledp.attacks.reidentification import Naming, name_slots

__all__ = [
    "DEFAULT_TRIALS",
    "AuditReport",
    "Evidence",
    "Finding",
    "Mode",
    "Naming",
    "NeighboringInputs",
    "Verdict",
    "audit",
    "name_slots",
]
