"""Accounting: what a protocol guarantees, from its public description alone."""

from shuffledp.accounting.account import account, account_all, best_lower_bound, delta_at, epsilon_of
from shuffledp.accounting.bracket import Bracket, bracket
from shuffledp.accounting.composition import compose_releases, to_privacy_loss_distribution
from shuffledp.accounting.examine import Examination, Finding, examine, findings
from shuffledp.accounting.limit import Limit, limit
from shuffledp.accounting.personal import personalized
from shuffledp.accounting.reidentification import ReidentificationBound, reidentification_bound
from shuffledp.accounting.renyi import renyi
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems import THEOREMS
from shuffledp.accounting.theorems.d_sigma import d_sigma_of_reports, d_sigma_statement

__all__ = [
    "THEOREMS",
    "Bracket",
    "Examination",
    "Finding",
    "Limit",
    "ReidentificationBound",
    "Theorem",
    "account",
    "account_all",
    "best_lower_bound",
    "bracket",
    "compose_releases",
    "d_sigma_of_reports",
    "d_sigma_statement",
    "delta_at",
    "epsilon_of",
    "examine",
    "findings",
    "limit",
    "personalized",
    "reidentification_bound",
    "renyi",
    "to_privacy_loss_distribution",
]
