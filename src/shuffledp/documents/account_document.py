"""What is known about a protocol without any data, in words: the promise, how far from the best, every theorem."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from shuffledp.accounting import Examination, Finding
from shuffledp.core.guarantees import DifferentialPrivacy
from shuffledp.core.statement_terms import Status
from shuffledp.core.text import in_digits
from shuffledp.documents.document import Column, Document, Promise, Section, Table, Text, told
from shuffledp.documents.statement_document import Guess

if TYPE_CHECKING:
    from shuffledp.planning.calibrate import Calibration

_SOLVED = {
    "epsilon0": "The largest local loss that leads there is epsilon0 = {}.",
    "num_users": "The fewest people that lead there are {}.",
}


def account_document(found: Examination) -> Document:
    """The promise and the bracket, and every theorem if they were asked for."""
    sections = (_theorems(found),) if found.theorems else ()
    return Document(promise=_promise(found), sections=sections)


def calibration_document(solved: "Calibration") -> Document:
    """The solved parameter first, then what holds with it."""
    value = f"{solved.value:,}" if solved.solved == "num_users" else in_digits(solved.value, "at least", digits=6)
    wanted = Text(f"Wanted: epsilon = {solved.target_epsilon:g}. {_SOLVED[solved.solved].format(value)}")
    promise = _promise(solved.found)
    return Document(promise=replace(promise, headline=(wanted, Text(str(solved.statement)))))


def _promise(found: Examination) -> Promise:
    """The statement, what it means, and how far it is from the best possible."""
    guarantee, grounds = found.upper.guarantee, [bracket_of(found)]
    meaning = ""
    if isinstance(guarantee, DifferentialPrivacy) and not guarantee.is_trivial:
        meaning = Guess.under(guarantee).sentence()
    if found.releases == 1 and 1 < found.amplification < math.inf:
        local, factor = in_digits(found.model.local.epsilon0, ""), in_digits(found.amplification, "at least", digits=3)
        grounds.append(
            f"One report by itself has epsilon0 = {local}; shuffling {found.counted.num_users:,} of them divides that "
            f"by {factor}."
        )
    if math.isinf(found.model.local.epsilon0):
        grounds.append("One report by itself is not locally private (epsilon0 is infinite): only the shuffle protects.")
    if found.renyi is not None:
        grounds.append(str(found.renyi))
    return Promise(
        title="What is promised", headline=(Text(str(found.upper)),), meaning=told(meaning), grounds=told(*grounds)
    )


def bracket_of(found: Examination) -> str:
    """Between which ends the best possible epsilon lies."""
    if found.epsilon_lower is None or found.slack is None:
        upper = in_digits(found.epsilon_upper, "at most")
        return f"Epsilon is at most {upper}; how much smaller the best possible one is, no theorem says."
    return best_possible(found.epsilon_lower, found.epsilon_upper, found.slack)


def best_possible(lower: float, upper: float, slack: float, whom: str = "") -> str:
    """Between which ends the best possible epsilon lies, and by how much what is stated may exceed it."""
    return (
        f"The best possible epsilon{whom} is between {in_digits(lower, 'at least')} and {in_digits(upper, 'at most')}: "
        f"what is stated is at most {in_digits(slack, 'at most')} times the best possible."
    )


def _theorems(found: Examination) -> Section:
    """Every theorem with what it gives, or why it does not apply, and the limit of many people."""
    stated = {statement.basis.theorem for statement in found.statements}
    own = frozenset(place for place, each in enumerate(found.theorems) if each.theorem in stated)
    columns = (Column("theorem", left=True), Column("epsilon"), Column("", left=True, folds=True))
    rows = tuple((each.theorem, _epsilon(each), _what(each)) for each in found.theorems)
    slack = "" if found.slack is None else f"upper / lower = {in_digits(found.slack, 'at most', digits=7)}"
    blocks = (
        *told("For one release each:" if found.releases > 1 else ""),
        Table("", columns, rows, own=own),
        *told(slack, _limit(found)),
    )
    return Section(anchor="theorems", title="Every theorem", blocks=blocks)


def _epsilon(finding: Finding) -> str:
    if finding.epsilon is None:
        return "-"
    sign = {"at most": "<=", "at least": ">="}.get(finding.kind.relation, "")
    return f"{sign} {in_digits(finding.epsilon, finding.kind.relation)}"


def _what(finding: Finding) -> str:
    if finding.reasons:
        return finding.reasons[0]
    return f"{finding.citation}{'; proven in this project' if finding.status is Status.OWN_PROOF else ''}"


def _limit(found: Examination) -> str:
    """What a protocol comes to in the limit of many people; "" where that is not known."""
    if found.limit is None:
        return ""
    mu = _from_to(found.limit.mu_lower, found.limit.mu_upper)
    epsilon = _from_to(found.limit.lower, found.limit.upper)
    start = "For one release, the" if found.releases > 1 else "The"
    return (
        f"{start} limit of many people is a Gaussian mechanism; for {found.counted.num_users:,} it would have mu {mu}, "
        f"so epsilon {epsilon}. (To compare with, not a bound.)"
    )


def _from_to(lower: float, upper: float) -> str:
    if lower == 0:
        return f"of at most about {upper:.4g}"
    if math.isclose(lower, upper, rel_tol=1e-4):
        return f"of about {upper:.4g}"
    return f"of about {lower:.4g} to {upper:.4g}"
