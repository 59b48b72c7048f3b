"""Privacy statements: a guarantee with its theorem, the theorem's hypotheses, and the trusted parties.

Code may only weaken a statement: post-process, compose, mix, convert, trust more, withdraw. A stronger one needs a
theorem.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shuffledp.core.described import Described
from shuffledp.core.errors import IncomparableError
from shuffledp.core.guarantees import CentralDP, DSigmaPrivacy, Guarantee, LocalDP
from shuffledp.core.statement_terms import FAKE_SENDERS, Basis, Hypothesis, Kind, Party, Status, Trust, Unit, Withdrawal
from shuffledp.core.text import in_digits
from shuffledp.core.upward_calls import Shown
from shuffledp.core.validate import invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Described):
    """Statement about one part of a composition or mixture, with a label such as a column's name."""

    label: str
    statement: "PrivacyStatement"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PrivacyStatement(Described, Shown):
    """Privacy statement: a guarantee with its basis, as a value that is kept with the result.

    ``print(statement)`` is a paragraph that may be quoted; ``to_dict()`` is the schema of ``docs/schema.json``.

    Guarantees:
        1. A statement that promises (exact or upper bound) has no hypothesis that fails.
        2. Every operation weakens: the result is implied by what went in.
        3. Statements of different kinds, types or deltas are never ordered; the attempt raises.

    Args:
        guarantee: what is claimed.
        kind: exact, upper bound, lower bound or estimate.
        basis: why.
        trust: what must hold in the world.
        unit: one report or one user.
        remarks: what a reader should know besides, such as why no amplification is stated.
        withdrawn: why the statement promises nothing, or None.
        claimed: after a withdrawal, the guarantee that would have been stated without it.
        parts: for a composition or a mixture, what was put together.
        parties: who the trusted ones are, where that is known.

    Raises:
        InvalidParameterError: if a promising statement has a hypothesis that does not hold, if one that is withdrawn
            promises something, if another one has ``claimed``, or for unknown trust.
    """

    guarantee: Guarantee
    kind: Kind
    basis: Basis
    trust: tuple[Trust, ...] = ()
    unit: Unit = Unit.USER
    remarks: tuple[str, ...] = ()
    withdrawn: Withdrawal | None = None
    claimed: Guarantee | None = None
    parts: tuple[Part, ...] = ()
    parties: tuple[Party, ...] = ()

    def __post_init__(self) -> None:
        ordered = tuple(member for member in Trust if member in self.trust)
        if set(self.trust) != set(ordered):
            raise invalid("members of Trust", trust=self.trust)
        object.__setattr__(self, "trust", ordered)
        failing = [hypothesis.text for hypothesis in self.basis.hypotheses if not hypothesis.holds]
        if self.kind.promises and failing:
            raise invalid("hypotheses that all hold in a statement that promises", failing="; ".join(failing))
        if self.withdrawn is None and self.claimed is not None:
            raise invalid("None in a statement that is not withdrawn", claimed=self.claimed)
        if self.withdrawn is not None and not self.guarantee.is_trivial:
            raise invalid("nothing in a statement that is withdrawn", guarantee=self.guarantee)

    def __str__(self) -> str:
        if self.withdrawn is not None:
            would = f" Without that: {self.sentence_of(self.claimed)}" if self.claimed else ""
            return f"WITHDRAWN: nothing is promised, because {self.withdrawn.text}.{would}"
        needs = "; ".join(self.needs)
        own = f", {self.proof}" if self.basis.status is Status.OWN_PROOF else ""
        unit = "" if self.unit is Unit.USER else "This is per report: somebody who sends several must add them up. "
        sentences = [
            self.sentence_of(self.guarantee),
            self.guarantee.weakness if self.kind.promises else "",
            f"{unit}{_KIND_IN_WORDS[self.kind]} by {self.basis.theorem} ({self.basis.citation}){own}.",
            f"It holds as long as {needs}." if needs else "",
            *self.remarks,
            *(" ".join([f"About {whom}:", *about]) for whom, about in self._remarks_of_parts().items()),
        ]
        return " ".join(sentence for sentence in sentences if sentence)

    @property
    def in_short(self) -> str:
        """Statement on one line, in which a sum of several parts is marked as a sum.

        So no reader takes a sum for one part.
        """
        claim: Any = self.claimed or self.guarantee
        state = "withdrawn; would have been " if self.withdrawn else ""
        delta = f", delta = {in_digits(claim.delta, self.kind.relation)}" if claim.delta else ""
        theorem = self.basis.theorem
        if claim.is_trivial and self.kind is Kind.EXACT:
            return f"{state}{claim.type} {self.kind}: no guarantee, epsilon is infinite ({theorem})"
        letter = "alpha" if isinstance(claim, DSigmaPrivacy) else "epsilon"
        loss = in_digits(getattr(claim, letter), self.kind.relation)
        together = " of all together" if self.parts else ""
        return f"{state}{claim.type} {self.kind}{together}: {letter} = {loss}{delta} ({theorem})"

    def sentence_of(self, guarantee: Guarantee) -> str:
        """Sentence that states the guarantee about this statement's subject."""
        is_sum = self.basis.theorem in {_COMPOSITION, _LOSSES, _ORDERS}
        return (guarantee.text_of_sum if is_sum else guarantee.text)(self.kind.relation)

    @property
    def needs(self) -> tuple[str, ...]:
        """Assumptions about the world, of all parts: trusted parties and other requirements."""
        fakes = [each.requirement for each in self.assumed if each.name == FAKE_SENDERS]
        trusted = list[str]()
        for member in self.trust:
            beside = fakes and member.text_beside_fakes != member.text  # fakes are named before everybody else
            trusted += [*fakes, member.text_beside_fakes] if beside else [self.words_of(member)]
        return tuple(dict.fromkeys([*trusted, *(each.requirement for each in self.assumed)]))

    def words_of(self, member: Trust) -> str:
        """Requirement on a party in words, with the party's name where known."""
        words, named = member.text, list[tuple[int, str]]()
        for party in self.parties:  # in the text itself, and never in the name of another party
            if found := re.search(rf"\bthe {party.role}\b", member.text):
                named.append((found.end(), f" ({party.name})"))
        for place, name in sorted(named, reverse=True):
            words = words[:place] + name + words[place:]
        return words

    @property
    def assumed(self) -> tuple[Hypothesis, ...]:
        """Assumed hypotheses of all parts."""
        bases = [self.basis, *(leaf.statement.basis for leaf in self.leaves())]
        return tuple(each for basis in bases for each in basis.hypotheses if each.is_assumed)

    def leaves(self) -> tuple[Part, ...]:
        """Innermost parts of a composition or mixture, each with its path of labels; empty without parts."""
        return tuple(
            replace(leaf, label=f"{part.label}: {leaf.label}") if part.statement.parts else part
            for part in self.parts
            for leaf in part.statement.leaves() or (part,)
        )

    @property
    def all_remarks(self) -> tuple[str, ...]:
        """Remarks of the statement and of all its parts, each with its subject."""
        parts = self._remarks_of_parts().items()
        return self.remarks + tuple(f"About {whom}: {remark}" for whom, remarks in parts for remark in remarks)

    def _remarks_of_parts(self) -> dict[str, list[str]]:
        """Remarks of all parts, by subject."""
        leaves, labels, about = self.leaves(), dict[str, list[str]](), dict[str, list[str]]()
        for leaf in leaves:
            for remark in leaf.statement.remarks:
                labels.setdefault(remark, []).append(leaf.label)
        for remark, of in labels.items():
            about.setdefault("each part" if len(of) == len(leaves) else "; ".join(of), []).append(remark)
        return about

    @property
    def proof(self) -> str:
        """Review status of the proof in words.

        A composition also names the project's own theorems in its parts.
        """
        bases = [leaf.statement.basis for leaf in self.leaves()]
        own = sorted({basis.theorem for basis in bases if basis.status is Status.OWN_PROOF})
        if own:
            return f"of parts of which {' and '.join(own)} {'are' if len(own) > 1 else 'is'} proven in this project"
        return "published" if self.basis.status is Status.PUBLISHED else "proven in this project"

    def explain(self) -> str:
        """Printed paragraph, followed by every hypothesis with its value."""
        lines = [f"  {hypothesis.text}" for hypothesis in self.basis.hypotheses]
        for leaf in self.leaves():
            lines += [f"  {leaf.label}: {hypothesis.text}" for hypothesis in leaf.statement.basis.hypotheses]
        return "\n".join([str(self), *lines])

    def __lt__(self, other: "PrivacyStatement") -> bool:
        return self._epsilon_beside(other) < other._epsilon_beside(self)

    def __le__(self, other: "PrivacyStatement") -> bool:
        return self._epsilon_beside(other) <= other._epsilon_beside(self)

    def _epsilon_beside(self, other: "PrivacyStatement") -> float:
        """Epsilon of this statement; refused unless epsilon alone can compare the two statements."""
        if not isinstance(other, PrivacyStatement):
            raise IncomparableError(f"a statement can only be compared with a statement; got {type(other).__name__}.")
        mine, theirs = self.guarantee, other.guarantee
        if not isinstance(mine, LocalDP | CentralDP) or not isinstance(theirs, LocalDP | CentralDP):
            raise IncomparableError(f"{mine.type} and {theirs.type} are not ordered by epsilon.")
        for what, left, right in (
            ("kind", self.kind, other.kind),
            ("guarantee type", mine.type, theirs.type),
            ("delta", mine.delta, theirs.delta),
            ("unit", self.unit, other.unit),
            ("neighbors", mine.neighbors, theirs.neighbors),
        ):
            if left != right:
                raise IncomparableError(f"statements must agree in {what} to be compared; got {left} and {right}.")
        return mine.epsilon

    def weaken(self, guarantee: Guarantee) -> "PrivacyStatement":
        """Copy of this statement with a weaker guarantee, implied by the statement's own guarantee.

        Raises:
            IncomparableError: if it is not implied, or if this is a lower bound or an estimate.
        """
        if not self.kind.promises or not self.guarantee.implies(guarantee):
            raise IncomparableError(
                f"a statement must imply what it is weakened to; {self.guarantee!r} does not imply {guarantee!r}."
            )
        return replace(self, guarantee=guarantee, kind=Kind.UPPER_BOUND)

    def post_process(self) -> "PrivacyStatement":
        """Statement about anything computed from the result alone (post-processing); no longer exact."""
        return self.weaken(self.guarantee)

    def trusting(self, *trust: Trust) -> "PrivacyStatement":
        """Copy of this statement with added trust assumptions."""
        return replace(self, trust=(*self.trust, *trust))

    def naming(self, *parties: Party) -> "PrivacyStatement":
        """Copy of this statement with the names of the trusted parties, also in its parts."""
        parts = tuple(replace(part, statement=part.statement.naming(*parties)) for part in self.parts)
        return replace(self, parties=tuple(dict.fromkeys([*self.parties, *parties])), parts=parts)

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of all fields; ``parties`` only where they have names."""
        written = super(PrivacyStatement, self).to_dict()
        return written if self.parties else {key: value for key, value in written.items() if key != "parties"}

    def remarking(self, *remarks: str) -> "PrivacyStatement":
        """Copy of this statement with added remarks."""
        return replace(self, remarks=(*self.remarks, *remarks))

    def withdraw(self, reason: Withdrawal) -> "PrivacyStatement":
        """Withdrawn statement: its guarantee is trivial, and ``claimed`` holds the old guarantee.

        Remarks are dropped.
        """
        if self.withdrawn is not None:
            return self
        return replace(self, guarantee=self.guarantee.nothing(), withdrawn=reason, claimed=self.guarantee, remarks=())

    def to_central(self) -> "PrivacyStatement":
        """Central statement about the whole release, from a local statement about one person's reports.

        Whatever is computed from reports that are each (epsilon, delta)-indistinguishable is so too (post-processing).

        Raises:
            IncomparableError: if it is not local, or a lower bound or an estimate, which what follows may fall below.
        """
        if not self.kind.promises:
            raise IncomparableError(f"only exact values and upper bounds convert to central-dp; got {self.kind}.")
        claimed = None if self.claimed is None else _central(self.claimed)
        return replace(self, guarantee=_central(self.guarantee), kind=Kind.UPPER_BOUND, claimed=claimed)


class Statements(Shown, tuple[PrivacyStatement, ...]):
    """Several statements about one release, headline first; a tuple that prints as paragraphs."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n\n".join(str(statement) for statement in self)

    @property
    def danger(self) -> str:
        """Warning that a withdrawn statement promises nothing, with the reason; "" if none is withdrawn."""
        reasons = [each.withdrawn.text for each in self if each.withdrawn]
        return f"WITHDRAWN: no privacy is promised: {reasons[0]}." if reasons else ""

    def listed(self, name: str) -> str:
        """Text with a line for each statement, and a line of code that explains the first statement.

        ``name`` is the name of the tuple in this code.
        """
        if not self:
            return ""
        whole = f"print({name}[0]) says what the first one means and whom one trusts."
        return "\n".join([*(each.in_short for each in self), whole])

    @property
    def in_short(self) -> str:
        """Headline, and the number of the other statements."""
        others = f"; {len(self) - 1} more" if len(self) > 1 else ""
        return f"{self[0].in_short}{others}" if self else "none"


_COMPOSITION = "basic-composition"
_LOSSES = "adding-losses"  # `shuffledp.accounting.compose_releases`
_ORDERS = "adding-orders"  # of the order inside groups, group by group
_KIND_IN_WORDS = {
    Kind.EXACT: "This is the exact value,",
    Kind.UPPER_BOUND: "This is an upper bound (the truth is this good or better),",
    Kind.LOWER_BOUND: "This is a lower bound (nothing better can be promised), not a promise,",
    Kind.ESTIMATE: "This is an estimate, not a promise,",
}


def _central(local: Guarantee) -> CentralDP:
    if not isinstance(local, LocalDP):
        raise IncomparableError(f"only a local-dp statement converts to central-dp; got {local.type}.")
    return CentralDP(epsilon=local.epsilon, delta=local.delta, neighbors=local.neighbors)


def compose(statements: Sequence[PrivacyStatement], *, labels: Sequence[str] | None = None) -> PrivacyStatement:
    """Statement for publishing several results about the same people (basic composition).

    Args:
        statements: one or more, all promising (exact or upper bounds), of one guarantee type.
        labels: for each what it is about, such as a column; None numbers them.

    Raises:
        IncomparableError: for lower bounds, estimates, or guarantees of different types.
        InvalidParameterError: for an empty sequence, or not one label for each.
    """
    first, *rest = _promising(statements)
    if not rest:
        return first
    guarantee = _claim(first)
    for statement in rest:
        guarantee = guarantee.compose(_claim(statement))
    citation = "basic composition; Dwork and Roth 2014, Theorem 3.16"
    parts = _labelled(statements, [f"part {place}" for place in range(1, len(statements) + 1)], labels)
    return combined(parts, guarantee, theorem=_COMPOSITION, citation=citation)


def mix(first: PrivacyStatement, second: PrivacyStatement, *, weight: float) -> PrivacyStatement:
    """Statement for a mechanism that is ``first`` with probability ``weight``, else ``second``.

    The choice must be made independently of the data.

    Raises:
        IncomparableError: for lower bounds, estimates, or guarantees of different types.
        InvalidParameterError: if ``weight`` is outside [0, 1].
    """
    left, right = _promising([first, second])
    guarantee = _claim(left).mix(_claim(right), weight)
    parts = _labelled([left, right], [f"with probability {share:g}" for share in (weight, 1 - weight)])
    return combined(parts, guarantee, theorem="mixture", citation="convexity of the hockey-stick divergence")


def _claim(statement: PrivacyStatement) -> Guarantee:
    """Guarantee that a statement claims, or claimed before it was withdrawn.

    `combined` withdraws the whole at the end.
    """
    return statement.claimed or statement.guarantee


def _promising(statements: Sequence[PrivacyStatement]) -> Sequence[PrivacyStatement]:
    if not statements:
        raise invalid("one statement or more", num_statements=0)
    for statement in statements:
        if not statement.kind.promises:
            raise IncomparableError(f"only exact values and upper bounds can be put together; got {statement.kind}.")
    return statements


def _labelled(
    statements: Sequence[PrivacyStatement], usual: Sequence[str], labels: Sequence[str] | None = None
) -> tuple[Part, ...]:
    labels = usual if labels is None else labels
    if len(labels) != len(statements):
        raise invalid(f"one for each of {len(statements)} statements", num_labels=len(labels))
    return tuple(Part(label=label, statement=each) for label, each in zip(labels, statements, strict=True))


def combined(parts: tuple[Part, ...], guarantee: Guarantee, *, theorem: str, citation: str) -> PrivacyStatement:
    """Statement of a theorem's upper bound for a whole, with the trust assumptions of all its parts."""
    statements = [part.statement for part in parts]
    # A conclusion is published only if all that it rests on is.
    own = any(statement.basis.status is Status.OWN_PROOF for statement in statements)
    withdrawn = next((statement.withdrawn for statement in statements if statement.withdrawn), None)
    # A change of all reports of a user includes a change of one report, but not the other way round.
    per_report = any(statement.unit is Unit.REPORT for statement in statements)
    whole = PrivacyStatement(
        guarantee=guarantee,
        kind=Kind.UPPER_BOUND,
        basis=Basis(theorem=theorem, citation=citation, status=Status.OWN_PROOF if own else Status.PUBLISHED),
        trust=tuple(trust for statement in statements for trust in statement.trust),
        unit=Unit.REPORT if per_report else Unit.USER,
        parts=parts,
        parties=tuple(dict.fromkeys(party for statement in statements for party in statement.parties)),
    )
    return whole if withdrawn is None else whole.withdraw(withdrawn)
