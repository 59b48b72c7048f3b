"""Attacks: what somebody who wants to know does with a view. They read views and models, and never the accounting.

The claims that an attack is held against come in as arguments, so that neither can be fitted to the other.
"""

from shuffledp.attacks.audit import audit
from shuffledp.attacks.de_finetti import DeFinettiAttack
from shuffledp.attacks.evaluation import InferenceEvaluation, evaluate
from shuffledp.attacks.findings import AuditReport, Evidence, Finding, Mode, Verdict
from shuffledp.attacks.gaussian_process import GaussianProcessAttack
from shuffledp.attacks.guessing import DEFAULT_GUESSES, Guessing, guess_answers
from shuffledp.attacks.inputs import NeighboringInputs
from shuffledp.attacks.known_games import DEFAULT_TRIALS
from shuffledp.attacks.naming import LearnedSlots, Naming, name_slots
from shuffledp.attacks.neighborhoods import NeighborhoodBayes, NeighborhoodPrior
from shuffledp.attacks.reidentification import (
    KnownAnswers,
    LikeliestSlots,
    OptimalReidentification,
)
from shuffledp.attacks.side_information import InferenceAttack, SideInformation, placement, similar_people
from shuffledp.attacks.votes import MajorityVote

__all__ = [
    "DEFAULT_GUESSES",
    "DEFAULT_TRIALS",
    "AuditReport",
    "DeFinettiAttack",
    "Evidence",
    "Finding",
    "GaussianProcessAttack",
    "Guessing",
    "InferenceAttack",
    "InferenceEvaluation",
    "KnownAnswers",
    "LearnedSlots",
    "LikeliestSlots",
    "MajorityVote",
    "Mode",
    "Naming",
    "NeighborhoodBayes",
    "NeighborhoodPrior",
    "NeighboringInputs",
    "OptimalReidentification",
    "SideInformation",
    "Verdict",
    "audit",
    "evaluate",
    "guess_answers",
    "name_slots",
    "placement",
    "similar_people",
]
