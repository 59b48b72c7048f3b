"""Accounting: the guarantee of a protocol, from its public description alone.

In reading order: `account`, `compose` (releases), `renyi_divergences` and `gaussian_charges` (of what is released),
`bounds` (both sides, all that is known), `lower_bounds`, `normal_limits`, `theorem`, `theorems` (the registry),
`evaluators` and `swapping` (numbers behind them), `privacy_losses`, `numerics`.
"""

from functools import partial

from shuffledp.accounting.account import account, account_all, delta_at, epsilon_of, may_be_sharper, why_not_sharper
from shuffledp.accounting.bounds import Bracket, Examination, Finding, bracket, examine, findings
from shuffledp.accounting.compose import (
    compose_pure,
    compose_releases,
    privacy_curve,
    to_privacy_loss_distribution,
)
from shuffledp.accounting.lower_bounds import best_lower_bound
from shuffledp.accounting.normal_limits import Limit, limit
from shuffledp.accounting.renyi_divergences import renyi
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems import SHARP_THEOREMS, THEOREMS
from shuffledp.accounting.theorems.personal_losses import personalized
from shuffledp.protocols import name_in_families

__all__ = [
    "SHARP_THEOREMS",
    "THEOREMS",
    "Bracket",
    "Examination",
    "Finding",
    "Limit",
    "Theorem",
    "account",
    "account_all",
    "best_lower_bound",
    "bracket",
    "compose_pure",
    "compose_releases",
    "delta_at",
    "epsilon_of",
    "examine",
    "findings",
    "limit",
    "may_be_sharper",
    "personalized",
    "privacy_curve",
    "renyi",
    "to_privacy_loss_distribution",
    "why_not_sharper",
]

__getattr__ = partial(name_in_families, __name__)
