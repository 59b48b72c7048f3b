"""A privacy statement in words: how much, what that means, whom one must trust, why it holds, what else is known."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from shuffledp.core.guarantees import CentralDP, DifferentialPrivacy, DSigmaPrivacy, Guarantee, LocalDP
from shuffledp.core.statement_terms import Basis, Kind, Trust, Unit
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import factor_in_digits, in_digits, shown_relation
from shuffledp.documents.document import (
    DETAIL,
    PAGE,
    TERMINAL,
    Beside,
    Block,
    Cell,
    Column,
    Document,
    Fold,
    Headline,
    Listing,
    Meter,
    Promise,
    Role,
    Section,
    Table,
    Tag,
    Text,
    told,
)
from shuffledp.documents.words import NOTHING, count, percent

_TITLES = {
    Kind.EXACT: "Exact value",
    Kind.UPPER_BOUND: "Upper bound",
    Kind.LOWER_BOUND: "Lower bound",
    Kind.ESTIMATE: "Estimate",
}
_MEANINGS = {
    Kind.EXACT: "A promise, and no stronger one is possible: the loss is this, up to the digits shown.",
    Kind.UPPER_BOUND: "A promise: the loss is this small or smaller.",
    Kind.LOWER_BOUND: "Not a promise. On some data the loss is at least this, so nothing smaller can be promised.",
    Kind.ESTIMATE: "Not a promise: an estimate of the loss.",
}
_LEAST_WRITTEN_OUT = 1e-9
_MOST_OF_ALL = 10**15
_ABOUT = {
    CentralDP.type: "everything that is released",
    LocalDP.type: "one person's report by itself",
    DSigmaPrivacy.type: "who of a group gave which of its reports",
}
_ABOUT_SEVERAL = {LocalDP.type: "all reports of one person together"}
_HOLDS = "It holds as long as"
_SIGNS = {"at most": "<=", "at least": ">=", "exactly": "="}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """The guarantee as a game of guessing which of two answers a person gave, with even chances before.

    Args:
        share: the largest chance of being right, from 0.5 to 1.
    """

    share: float

    @classmethod
    def under(cls, guarantee: DifferentialPrivacy) -> "Guess":
        """At most (exp(epsilon) + delta) / (exp(epsilon) + 1), however much else the guesser knows."""
        inverse = math.exp(-guarantee.epsilon)
        return cls(share=min((1 + guarantee.delta * inverse) / (1 + inverse), 1.0))

    @property
    def text(self) -> str:
        """The chance in percent, rounded up."""
        return percent(self.share, "at most")

    def sentence(self, *, several: bool = False) -> str:
        """What it means; ``several`` says that a person gave more than one answer."""
        return (
            "Somebody who knows the answers of all the others, and wonders which of two "
            f"{'sets of ' if several else ''}answers one person gave, with even chances before, guesses right at most "
            f"{self.text} of the time after seeing everything that is released."
        )

    def in_short(self, *, several: bool = False) -> str:
        """The same on one line."""
        answers, sets = ("answers", "sets of answers ") if several else ("answer", "")
        return (
            f"Somebody who knows everybody else's {answers} guesses right between two {sets}at most {self.text} of the "
            "time."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The numbers of a differential privacy guarantee, as they are shown large."""

    epsilon: str
    epsilon_relation: str
    factor: str
    factor_relation: str
    delta: str
    allowance: str

    @classmethod
    def of(cls, guarantee: Guarantee, relation: str) -> "Loss | None":
        """None for a guarantee that promises nothing, or one that is not a matter of epsilon."""
        if not isinstance(guarantee, DifferentialPrivacy) or guarantee.is_trivial:
            return None
        epsilon, delta = in_digits(guarantee.epsilon, relation), in_digits(guarantee.delta, relation)
        return cls(
            epsilon=epsilon,
            epsilon_relation=shown_relation(guarantee.epsilon, epsilon, relation),
            factor=factor_in_digits(guarantee.epsilon, relation),
            factor_relation="at most" if relation == "exactly" else relation,
            delta=f"{Decimal(delta):f}" if guarantee.delta >= _LEAST_WRITTEN_OUT else delta,
            allowance=_one_in(guarantee.delta, relation),
        )


def _one_in(delta: float, relation: str) -> str:
    """A remainder as a share of all, rounded as the relation says: a smaller number of all is a larger share."""
    if delta < 1 / _MOST_OF_ALL:
        return f"less than one in {count(_MOST_OF_ALL)}" if delta else ""
    every = 1 / Fraction(in_digits(delta, relation, digits=15).replace(",", ""))
    rounding = {"at most": math.floor, "at least": math.ceil}.get(relation, round)
    return f"one in {count(rounding(every))}"


def promise_of(statements: Sequence[PrivacyStatement], counted: str = "") -> Promise:
    """The first statement in its parts, and the others in short, marked by their kinds; ``counted`` are the reports."""
    first, *others = statements
    dangers = tuple(each.text for each in first.trust if each.is_danger)
    alone = next((each.claimed or each.guarantee for each in others if each.guarantee.type == LocalDP.type), None)
    headline: tuple[Block, ...] = (
        *said_first(first),
        Text(first.explain(), bold=dangers, on=DETAIL),
        *(Text(f"  of which {part.label}: {part.statement.in_short}", Role.NOTE, on=DETAIL) for part in first.parts),
        *(_other(each, of_several=bool(first.parts)) for each in others),
    )
    facts = (*facts_of(first), with_loss(counted, alone, together=bool(first.parts)))
    if first.withdrawn:
        headline = (*headline, *_withdrawn(first, others))
        return Promise(title="Nothing is promised", facts=facts, headline=headline)
    cards = tuple(tuple(_card(each, first.all_remarks)) for each in others)
    known = (Text("What else is known", Role.HEADING, on=PAGE), Beside(cards, "cards", on=PAGE))
    return Promise(
        title="Nothing is promised" if first.guarantee.is_trivial else "What is promised",
        facts=facts,
        headline=(*headline, _large(first)),
        meaning=(*meaning_in_short(first), *_meaning(first)),
        trust=(
            *trust_in_short(first),
            Text("Who must be trusted", Role.HEADING, on=PAGE),
            Text(_HOLDS, on=PAGE),
            Listing(first.needs, "trust", dangers, on=PAGE),
        ),
        grounds=(*_grounds(first), *(known if others else ())),
    )


def statements_document(statements: Sequence[PrivacyStatement]) -> Document:
    """What several statements say by themselves, the first as the headline."""
    return Document(promise=promise_of(statements))


def statement_document(statement: PrivacyStatement) -> Document:
    """What one statement says by itself; one that promises nothing is shown as it is beside a promise."""
    if statement.kind.promises:
        return statements_document([statement])
    known = Section(anchor="statement", title="", blocks=tuple(_card(statement, ())))
    return Document(sections=(known,))


def with_share(document: Document, share: str) -> Document:
    """The document, whose promise says first of what it is a ``share``; "" where it is no share."""
    promise = document.promise
    if promise is None:
        return document
    return replace(document, promise=replace(promise, headline=(*told(share), *promise.headline)))


# ---- in short, for a terminal ----------------------------------------------------------------------------------------


def facts_of(statement: PrivacyStatement) -> tuple[str, ...]:
    """Epsilon and delta, as far as they are promised."""
    claim: Any = statement.claimed or statement.guarantee
    letter, relation = "alpha" if isinstance(claim, DSigmaPrivacy) else "epsilon", statement.kind.relation
    loss = getattr(claim, letter)
    shown = in_digits(loss, relation)
    sign = _SIGNS.get(shown_relation(loss, shown, relation), "~")
    facts = [f"{letter} {sign} {shown}", f"delta {in_digits(claim.delta, relation)}"]
    if claim.is_trivial:
        return ("nothing is promised",)
    return ("nothing is promised", f"else {facts[0]}", facts[1]) if statement.withdrawn else tuple(facts)


def with_loss(counted: str, alone: Guarantee | None, *, together: bool = False) -> str:
    """How many reports there are, with the loss that each has by itself, or all of one person."""
    if not isinstance(alone, DifferentialPrivacy):
        return counted
    if alone.is_trivial:
        return f"{counted}, unprotected until shuffled"
    return f"{counted}, {'together' if together else 'each'} epsilon0 = {in_digits(alone.epsilon, 'exactly')}"


def said_first(statement: PrivacyStatement) -> tuple[Text, ...]:
    """What must not be missed: that nothing is promised, or that somebody reads answers who breaks an agreement."""
    if statement.withdrawn:
        reason = f"WITHDRAWN: nothing is promised, because {statement.withdrawn.text}."
        return (Text(reason, Role.WITHDRAWN, on=TERMINAL),)
    if statement.guarantee.is_trivial:
        return (Text(statement.sentence_of(statement.guarantee), Role.DANGER, on=TERMINAL),)
    dangers = (each.text for each in statement.trust if each.is_danger)
    return tuple(Text(f"This holds only as long as {each}.", Role.DANGER, on=TERMINAL) for each in dangers)


def meaning_in_short(statement: PrivacyStatement) -> tuple[Text, ...]:
    """How often somebody guesses right, on one line."""
    guarantee = statement.guarantee
    if not isinstance(guarantee, DifferentialPrivacy) or guarantee.is_trivial or not statement.kind.promises:
        return ()
    guess = Guess.under(guarantee).in_short(several=bool(statement.parts))
    return told(" ".join(filter(None, [guess, _per_report(statement), guarantee.weakness])), on=TERMINAL)


def trust_in_short(statement: PrivacyStatement) -> tuple[Text, ...]:
    """Whom one trusts, on one line, with what else is assumed."""
    if statement.guarantee.is_trivial:
        return ()
    trusted = {text for each in statement.trust for text in (each.text, each.text_beside_fakes)}
    needed = "; ".join([trusting(statement.trust), *(each for each in statement.needs if each not in trusted)])
    return told(f"{needed}. More: -v", on=TERMINAL)


def trusting(trust: Iterable[Trust]) -> str:
    """Whom one trusts, by name."""
    return f"Trusting: {', '.join(each.name_of_trusted for each in trust) or 'nobody'}"


def _other(statement: PrivacyStatement, *, of_several: bool) -> Text:
    """A further statement on one line: that of orders is about something of its own, all others are details."""
    on = TERMINAL if isinstance(statement.guarantee, DSigmaPrivacy) else DETAIL
    return Text(f"  {statement.in_short}{_whose(statement) if of_several else ''}", Role.NOTE, on=on)


def _whose(statement: PrivacyStatement) -> str:
    """Which column or release a lower bound is about, as its remarks say; other statements are about all together."""
    return ". " + " ".join(statement.remarks) if statement.kind is Kind.LOWER_BOUND and statement.remarks else ""


def _withdrawn(first: PrivacyStatement, others: Sequence[PrivacyStatement]) -> Iterable[Block]:
    """Why nothing is promised, and what would have been."""
    reason = "" if first.withdrawn is None else first.withdrawn.text
    yield Text(
        f"This page makes no promise to anybody: {reason}. Its estimates may serve to try things out. For a release, "
        "collect and randomize again without a seed.",
        Role.LEAD,
        on=PAGE,
    )
    if first.claimed is not None:
        would = f"{first.sentence_of(first.claimed)} None of this holds for the run on this page."
        yield Fold("What would be stated about a run without a seed", told(would), on=PAGE)
    if others:
        kinds = ", ".join(_TITLES[each.kind].lower() for each in others)
        yield Text(f"The other statements about this run ({kinds}) are withdrawn too.", on=PAGE)


def _large(statement: PrivacyStatement) -> Headline:
    """The numbers, the sentence, and that the promise is a weak one, if it is."""
    loss = Loss.of(statement.guarantee, statement.kind.relation)
    numbers = () if loss is None else (
        (f"epsilon, {loss.epsilon_relation}", loss.epsilon),
        (f"a factor of {loss.factor_relation}", loss.factor),
        ("remainder (delta)", loss.delta),
    )  # fmt: skip
    return Headline(numbers, statement.sentence_of(statement.guarantee), _weakness(statement), on=PAGE)


def _per_report(statement: PrivacyStatement) -> str:
    return "This is per report: somebody who sends several must add them up." * (statement.unit is Unit.REPORT)


def _weakness(statement: PrivacyStatement) -> str:
    return statement.guarantee.weakness if statement.kind.promises else ""


def _meaning(statement: PrivacyStatement) -> Iterable[Block]:
    """The game, the remainder, and which two inputs are compared."""
    guarantee, loss = statement.guarantee, Loss.of(statement.guarantee, statement.kind.relation)
    yield Text("What it means", Role.HEADING, on=PAGE)
    if loss is not None and statement.kind.promises and isinstance(guarantee, DifferentialPrivacy):
        guess = Guess.under(guarantee)
        yield Text(guess.sentence(several=bool(statement.parts)), on=PAGE)
        yield Meter(guess.share, guess.text, on=PAGE)
    if loss is not None and loss.allowance:
        yield Text(f"The remainder is an allowance on top of every probability: {loss.allowance}.", on=PAGE)
    yield from told(_per_report(statement), on=PAGE)
    if isinstance(guarantee, DifferentialPrivacy):
        compared = guarantee.neighbors.text_of_sum if statement.parts else guarantee.neighbors.text
        yield Text(f"What is compared: {compared}.", on=PAGE)


def _grounds(statement: PrivacyStatement) -> Iterable[Block]:
    """Kind, theorem, parts, remarks and hypotheses, and the whole as a paragraph."""
    yield Text("Why it holds", Role.HEADING, on=PAGE)
    yield Text(_MEANINGS[statement.kind], tags=(Tag(_TITLES[statement.kind], "promise"),), on=PAGE)
    yield _by(statement, "By the theorem ")
    if statement.parts:
        yield from _shares(statement)
    if statement.all_remarks:
        yield Text("What else to know", Role.SUBHEADING, on=PAGE)
        yield Listing(statement.all_remarks, on=PAGE)
    yield from _hypotheses(statement.basis)
    yield Fold("The whole statement as a paragraph to quote", told(str(statement)), on=PAGE)


def _by(statement: PrivacyStatement, start: str = "By ") -> Text:
    """Theorem, source, and who has checked the proof."""
    theorem = statement.basis.theorem
    return Text(f"{start}{theorem}: {statement.basis.citation}; {statement.proof}.", code=(theorem,), on=PAGE)


def _card(statement: PrivacyStatement, known: Sequence[str]) -> Iterable[Block]:
    """Another statement, smaller; ``known`` are remarks that have been made already."""
    guarantee, relation = statement.guarantee, statement.kind.relation
    about = (_ABOUT | _ABOUT_SEVERAL if statement.parts else _ABOUT).get(guarantee.type, guarantee.type)
    look = "promise" if statement.kind.promises else ""
    yield Text(f"on {about}", tags=(Tag(_TITLES[statement.kind], look),))
    sentence, loss = statement.sentence_of(guarantee), Loss.of(guarantee, relation)
    if guarantee.is_trivial:
        yield Text("Nothing is guaranteed.", Role.NUMBERS, bold=("Nothing is guaranteed.",))
        yield Text(sentence)
    elif loss is not None:
        delta = f", delta\N{NO-BREAK SPACE}{loss.delta}" if loss.allowance else ""
        told_loss = f"epsilon {loss.epsilon_relation} {loss.epsilon}, a factor of {loss.factor_relation} {loss.factor}"
        yield Text(f"{told_loss}{delta}", Role.NUMBERS, bold=(loss.epsilon, loss.factor))
    elif isinstance(guarantee, DSigmaPrivacy):
        remainder = f", delta {relation} {in_digits(guarantee.delta, relation)}" if guarantee.delta else ""
        factor = f"a factor of {relation} {factor_in_digits(guarantee.alpha, relation)}"
        yield Text(f"alpha {relation} {in_digits(guarantee.alpha, relation)}, {factor}{remainder}", Role.NUMBERS)
        yield Text(sentence)
    if not guarantee.is_trivial:
        yield Text(" ".join(filter(None, [_MEANINGS[statement.kind], _weakness(statement)])))
    yield _by(statement)
    yield from told(*(each for each in statement.all_remarks if each not in known), role=Role.NOTE)
    if statement.parts:
        yield Fold("What it was put together from", tuple(_shares(statement)))
    if statement.needs:
        yield Fold(_HOLDS, (Listing(statement.needs, "trust"),))
    yield from _hypotheses(statement.basis)


def _shares(statement: PrivacyStatement) -> Iterable[Block]:
    """What a statement was put together from, with the hypotheses of each part."""
    rows, leaves = [], statement.leaves()
    for leaf in leaves:
        loss = Loss.of(leaf.statement.guarantee, leaf.statement.kind.relation)
        numbers = (NOTHING, NOTHING) if loss is None else (f"{loss.epsilon_relation} {loss.epsilon}", loss.delta)
        rows.append((leaf.label, *numbers, Cell(text=leaf.statement.basis.theorem, code=True)))
    heads = (Column("What", left=True), Column("Epsilon"), Column("Delta"), Column("By", left=True))
    caption = "What it was put together from: what each loses by itself, none of which is a promise about all of it"
    yield Table(caption, heads, tuple(rows), look="shares", label="What each loses by itself", on=PAGE)
    for leaf in leaves:
        yield from _hypotheses(leaf.statement.basis, f" for {leaf.label}")


def _hypotheses(basis: Basis, whose: str = "") -> Iterable[Block]:
    """What the theorem needs, and what was found, if it needs anything."""
    if basis.hypotheses:
        rows = tuple((each.requirement, each.value, "yes" if each.holds else "no") for each in basis.hypotheses)
        table = Table(
            f"All must hold; they were evaluated by shuffledp {basis.library_version}.",
            (Column("The theorem needs", left=True), Column("Found", left=True), Column("Holds", left=True)),
            rows,
            look="",
            label="Hypotheses",
        )
        yield Fold(f"Hypotheses of {basis.theorem}{whose}, each with the value it met", (table,), on=PAGE)
