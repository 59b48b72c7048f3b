"""Attacks that an adversary can make on a view, compared with claims.

They read models, and never the accounting.

Files in reading order:

* `audit`: claims put to the test by distinguishing games; `findings`: its report; `audit_statistics`: its intervals.
* `games`: the game for local, central and order claims, and for views by their statistics.
* `likelihood_scores`: neighboring data sets, and how a view is scored. `place_games`: the place where a report ends.
* `guessing_game`: one person's answer guessed from a view. `false_reports`: an estimate moved by one report.

Families of protocols bring further games, by the door ``games``, and further attacks, such as `evaluate`.

The claims that an attack is held against come in as arguments, so that neither can be fitted to the other.
"""

from functools import partial

from shuffledp.attacks.audit import DEFAULT_TRIALS, audit
from shuffledp.attacks.findings import AuditReport, Evidence, Finding, Mode, Verdict
from shuffledp.attacks.guessing_game import DEFAULT_GUESSES, Guessing, guess_answers
from shuffledp.attacks.likelihood_scores import NeighboringInputs
from shuffledp.protocols import name_in_families

__all__ = [
    "DEFAULT_GUESSES",
    "DEFAULT_TRIALS",
    "AuditReport",
    "Evidence",
    "Finding",
    "Guessing",
    "Mode",
    "NeighboringInputs",
    "Verdict",
    "audit",
    "guess_answers",
]

__getattr__ = partial(name_in_families, __name__)
