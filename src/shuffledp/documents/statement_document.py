"""A privacy statement in words: numbers, meaning, trust, grounds, and other known statements."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from shuffledp.core.guarantees import CentralDP, DifferentialPrivacy, DSigmaPrivacy, Guarantee, LocalDP, Neighbors
from shuffledp.core.statement_terms import Kind, Trust, Unit
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import factor_in_digits, in_digits, shown_relation
from shuffledp.documents.blocks import (
    DETAIL,
    PAGE,
    TERMINAL,
    Block,
    Cell,
    Column,
    Fold,
    Headline,
    Listing,
    Meter,
    Role,
    Table,
    Tag,
    Text,
    told,
)
from shuffledp.documents.document import Document, Promise, Section
from shuffledp.documents.words import NOTHING, Guess, Loss

_TITLES = {
    Kind.EXACT: "Exact value",
    Kind.UPPER_BOUND: "Upper bound",
    Kind.LOWER_BOUND: "Lower bound",
    Kind.ESTIMATE: "Estimate",
}
_MEANINGS = {
    Kind.EXACT: "A promise, and no stronger one is possible: the loss is this, up to the digits shown.",
    Kind.UPPER_BOUND: "A promise: the loss is this small or smaller.",
    Kind.LOWER_BOUND: "Not a promise: on some data the loss is at least this.",
    Kind.ESTIMATE: "Not a promise: an estimate of the loss.",
}
_ABOUT = {
    CentralDP.type: "everything that is released",
    LocalDP.type: "one person's report by itself",
    DSigmaPrivacy.type: "who of a group gave which of its reports",
}
_ABOUT_SEVERAL = {LocalDP.type: "all reports of one person together"}
_SIGNS = {"at most": "<=", "at least": ">=", "exactly": "="}


def promise_of(statements: Sequence[PrivacyStatement], counted: str = "") -> Promise:
    """Promise with the first statement in parts and others in short; ``counted`` describes the reports."""
    first, *others = statements
    dangers = tuple(first.words_of(each) for each in first.trust if each.is_danger)
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
    return Promise(
        title="Nothing is promised" if first.guarantee.is_trivial else "In short",
        facts=facts,
        headline=(*headline, *_plainly(first), _large(first)),
        meaning=(*meaning_in_short(first), *_meaning(first)),
        trust=(
            *trust_in_short(first),
            Text("It holds as long as", Role.HEADING, on=PAGE),
            Listing(first.needs, "trust", dangers, on=PAGE),
        ),
        grounds=grounds_of(statements),
    )


def statements_document(statements: Sequence[PrivacyStatement]) -> Document:
    """Document of several statements by themselves, the first as the headline."""
    return Document(promise=promise_of(statements))


def statement_document(statement: PrivacyStatement) -> Document:
    """Document of one statement by itself; a statement that promises nothing is shown in a table."""
    if statement.kind.promises:
        return statements_document([statement])
    known = Section(anchor="statement", title="", blocks=known_besides([statement]))
    return Document(sections=(known,))


def with_share(document: Document, share: str) -> Document:
    """Document with its promise marked as a ``share`` of a larger promise; unchanged for ""."""
    promise = document.promise
    if promise is None:
        return document
    return replace(document, promise=replace(promise, headline=(*told(share), *promise.headline)))


# ---- in short, for a terminal ----------------------------------------------------------------------------------------


def facts_of(statement: PrivacyStatement) -> tuple[str, ...]:
    """Promised epsilon or alpha, and delta; or the remark that nothing is promised."""
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
    """Number of reports, with the loss of each report or of all reports of one person."""
    if not isinstance(alone, DifferentialPrivacy):
        return counted
    if alone.is_trivial:
        return f"{counted}, unprotected until shuffled"
    return f"{counted}, {'together' if together else 'each'} epsilon0 = {in_digits(alone.epsilon, 'exactly')}"


def said_first(statement: PrivacyStatement) -> tuple[Text, ...]:
    """Warnings: nothing is promised, or some party could read answers if it breaks an agreement."""
    if statement.withdrawn:
        reason = f"WITHDRAWN: nothing is promised, because {statement.withdrawn.text}."
        return (Text(reason, Role.WITHDRAWN, on=TERMINAL),)
    if statement.guarantee.is_trivial:
        return (Text(statement.sentence_of(statement.guarantee), Role.DANGER, on=TERMINAL),)
    dangers = (statement.words_of(each) for each in statement.trust if each.is_danger)
    return tuple(Text(f"This holds only as long as {each}.", Role.DANGER) for each in dangers)


def meaning_in_short(statement: PrivacyStatement) -> tuple[Text, ...]:
    """Chance of a right guess, on one line."""
    guess = guess_of(statement)
    if guess is None:
        return ()
    said = guess.in_short(several=bool(statement.parts))
    return told(" ".join(filter(None, [said, per_report(statement), statement.guarantee.weakness])), on=TERMINAL)


def guess_of(statement: PrivacyStatement) -> Guess | None:
    """The statement as a game of guessing; None without a promise, or for another kind of promise."""
    guarantee = statement.guarantee
    if not isinstance(guarantee, DifferentialPrivacy) or guarantee.is_trivial or not statement.kind.promises:
        return None
    return Guess.under(guarantee)


def trust_in_short(statement: PrivacyStatement) -> tuple[Text, ...]:
    """Trusted parties and other assumptions, on one line."""
    if statement.guarantee.is_trivial:
        return ()
    trusted = {text for each in statement.trust for text in (statement.words_of(each), each.text_beside_fakes)}
    needed = "; ".join([trusting(statement.trust), *(each for each in statement.needs if each not in trusted)])
    return told(f"{needed}. More: -v", on=TERMINAL)


def _other(statement: PrivacyStatement, *, of_several: bool) -> Text:
    """A further statement on one line; a detail, unless it is about orders."""
    on = TERMINAL if isinstance(statement.guarantee, DSigmaPrivacy) else DETAIL
    return Text(f"  {statement.in_short}{_whose(statement) if of_several else ''}", Role.NOTE, on=on)


def _whose(statement: PrivacyStatement) -> str:
    """Remarks of a lower bound, which name its column or release; "" for all other statements."""
    return ". " + " ".join(statement.remarks) if statement.kind is Kind.LOWER_BOUND and statement.remarks else ""


def _withdrawn(first: PrivacyStatement, others: Sequence[PrivacyStatement]) -> Iterable[Block]:
    """Blocks on why nothing is promised, with the statement that a run without a seed would have."""
    yield Text(
        "This page makes no promise to anybody. Its estimates may serve to try things out. For a release, collect and "
        "randomize again without a seed.",
        Role.LEAD,
        on=PAGE,
    )
    if first.claimed is not None:
        would = f"{first.sentence_of(first.claimed)} None of this holds for the run on this page."
        yield Fold("What would be stated about a run without a seed", told(would), on=PAGE)
    if others:
        kinds = ", ".join(_TITLES[each.kind].lower() for each in others)
        yield Text(f"The other statements about this run ({kinds}) are withdrawn too.", on=PAGE)


def _plainly(statement: PrivacyStatement) -> tuple[Text, ...]:
    """Meaning of the numbers for one person, without terms of the field."""
    guess = guess_of(statement)
    return () if guess is None else told(guess.plainly(several=bool(statement.parts)), role=Role.LEAD, on=PAGE)


def _large(statement: PrivacyStatement) -> Headline:
    """Displayed numbers of a statement, its sentence, and a note on a weak promise."""
    loss = Loss.of(statement.guarantee, statement.kind.relation)
    numbers = () if loss is None else (
        (f"epsilon, {loss.epsilon_relation}", loss.epsilon),
        ("remainder (delta)", loss.delta),
    )  # fmt: skip
    return Headline(numbers, statement.sentence_of(statement.guarantee), _weakness(statement), on=PAGE)


def per_report(statement: PrivacyStatement) -> str:
    """Note that the losses of one person's reports add up; "" for a statement about whole people."""
    return "This is per report: somebody who sends several must add them up." * (statement.unit is Unit.REPORT)


def _weakness(statement: PrivacyStatement) -> str:
    return statement.guarantee.weakness if statement.kind.promises else ""


def _meaning(statement: PrivacyStatement) -> Iterable[Block]:
    """Blocks on what a statement means: chance of a guess, remainder, and limits of the protection."""
    guarantee, loss = statement.guarantee, Loss.of(statement.guarantee, statement.kind.relation)
    yield Text("What it means", Role.HEADING, on=PAGE)
    if loss is not None and statement.kind.promises and isinstance(guarantee, DifferentialPrivacy):
        guess = Guess.under(guarantee)
        yield Meter(guess.share, guess.text, on=PAGE)
    if loss is not None and loss.allowance:
        yield Text(f"The remainder is an allowance on top of every probability: {loss.allowance}.", on=PAGE)
    yield from told(per_report(statement), on=PAGE)
    if isinstance(guarantee, DifferentialPrivacy) and guarantee.neighbors is Neighbors.REPLACE_ONE:
        yield Text("The number of people is public.", on=PAGE)


# ---- grounds: kinds, theorems, parts, remarks and hypotheses ---------------------------------------------------------


def grounds_of(statements: Sequence[PrivacyStatement]) -> tuple[Block, ...]:
    """Blocks on the grounds of the first statement, and on the other statements."""
    first, *others = statements
    return (
        _kind(first.kind, _MEANINGS[first.kind]),
        Text(f"By the theorem {_by(first)}.", code=(first.basis.theorem,), on=PAGE),
        *((_shares(first),) if first.parts else ()),
        *((Listing(first.all_remarks, on=PAGE),) if first.all_remarks else ()),
        Fold("The whole statement, with each hypothesis and its value", _in_full(first), on=PAGE),
        *(known_besides(others, first) if others else ()),
    )


def _in_full(statement: PrivacyStatement) -> tuple[Block, ...]:
    """The statement as a paragraph, and a table of the requirements of its theorems."""
    bases = {"": statement.basis} | {f"{leaf.label}: ": leaf.statement.basis for leaf in statement.leaves()}
    needed = [(f"{of}{each.requirement}", each.value) for of, basis in bases.items() for each in basis.hypotheses]
    heads = (Column("Needed", left=True), Column("Found", left=True))
    table = Table("", heads, tuple(needed), look="", label="Hypotheses")
    return (*told(str(statement)), *((table,) if needed else ()))


def known_besides(others: Sequence[PrivacyStatement], first: PrivacyStatement | None = None) -> tuple[Block, ...]:
    """Table of the statements other than ``first``, marked by kind."""
    heads = (Column("What else is known", left=True), Column("Loss", left=True), Column("By", left=True))
    rows = tuple(_row(each, first) for each in others)
    table = Table("", heads, rows, look="known", label="What else is known", on=PAGE)
    meant = dict.fromkeys(each.kind for each in others if first is None or not each.kind.promises)
    return (table, *(_kind(kind, _MEANINGS[kind]) for kind in meant))


def trusting(trust: Iterable[Trust]) -> str:
    """The trusted parties and conditions, in words."""
    return f"Trusting: {', '.join(each.name_of_trusted for each in trust) or 'nobody'}"


def _kind(kind: Kind, text: str) -> Text:
    return Text(text, tags=(Tag(_TITLES[kind], "promise" if kind.promises else ""),), on=PAGE)


def _by(statement: PrivacyStatement) -> str:
    """Theorem, source, and state of its verification."""
    return f"{statement.basis.theorem}: {statement.basis.citation}; {statement.proof}"


def _row(statement: PrivacyStatement, first: PrivacyStatement | None) -> tuple[Cell, ...]:
    """A statement as a row: its subject, its loss, and its theorem."""
    guarantee, kind = statement.guarantee, statement.kind
    about = (_ABOUT | _ABOUT_SEVERAL if statement.parts else _ABOUT).get(guarantee.type, guarantee.type)
    is_loss = Loss.of(guarantee, kind.relation) is not None
    known = first.all_remarks if first is not None else ()
    notes = (
        "" if is_loss else statement.sentence_of(guarantee),
        guarantee.weakness if kind.promises and not guarantee.is_trivial else "",
        *(each for each in statement.all_remarks if each not in known),
        "" if first is not None and statement.needs == first.needs else f"{trusting(statement.trust)}.",
    )
    name = Cell(text=about, note=" ".join(filter(None, notes)), tags=(Tag(_TITLES[kind], "promise" * kind.promises),))
    theorem = Cell(text=statement.basis.theorem, note=f"{statement.basis.citation}; {statement.proof}", code=True)
    return name, _loss(statement), theorem


def _loss(statement: PrivacyStatement) -> Cell:
    """The loss of a statement, with factor and remainder as a note."""
    guarantee, relation = statement.guarantee, statement.kind.relation
    loss = Loss.of(guarantee, relation)
    if loss is not None:
        note = f"delta {loss.delta}" if loss.allowance else ""
        return Cell(before=f"epsilon {loss.epsilon_relation}", text=loss.epsilon, note=note, bold=True)
    if isinstance(guarantee, DSigmaPrivacy) and not guarantee.is_trivial:
        delta = f", delta {relation} {in_digits(guarantee.delta, relation)}" if guarantee.delta else ""
        note = f"a factor of {relation} {factor_in_digits(guarantee.alpha, relation)}{delta}"
        return Cell(before=f"alpha {relation}", text=in_digits(guarantee.alpha, relation), note=note, bold=True)
    return Cell(text="nothing is guaranteed", bold=True)


def _shares(statement: PrivacyStatement) -> Table:
    """The parts of a composed statement."""
    rows = []
    for leaf in statement.leaves():
        loss = Loss.of(leaf.statement.guarantee, leaf.statement.kind.relation)
        numbers = (NOTHING, NOTHING) if loss is None else (f"{loss.epsilon_relation} {loss.epsilon}", loss.delta)
        rows.append((leaf.label, *numbers, Cell(text=leaf.statement.basis.theorem, code=True)))
    heads = (Column("What", left=True), Column("Epsilon"), Column("Delta"), Column("By", left=True))
    caption = "What it was put together from: what each loses by itself, none of which is a promise about all of it"
    return Table(caption, heads, tuple(rows), look="shares", label="What each loses by itself", on=PAGE)
