"""Accounting: what a protocol guarantees, from its public description alone."""

from shuffledp.accounting.account import account, account_all, delta_at
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems import THEOREMS

__all__ = ["THEOREMS", "Theorem", "account", "account_all", "delta_at"]
