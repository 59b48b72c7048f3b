"""Accounting: what a protocol guarantees, from its public description alone."""

from shuffledp.accounting.account import account, account_all, delta_at, epsilon_of
from shuffledp.accounting.examine import Examination, Finding, examine, findings
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems import THEOREMS

__all__ = [
    "THEOREMS",
    "Examination",
    "Finding",
    "Theorem",
    "account",
    "account_all",
    "delta_at",
    "epsilon_of",
    "examine",
    "findings",
]
