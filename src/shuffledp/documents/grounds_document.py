"""Grounds of statements in words: their kinds, theorems, parts, remarks and hypotheses."""

from collections.abc import Iterable, Sequence

from shuffledp.core.guarantees import CentralDP, DSigmaPrivacy, LocalDP
from shuffledp.core.statement_terms import Kind, Trust
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import factor_in_digits, in_digits
from shuffledp.documents.document import PAGE, Block, Cell, Column, Fold, Listing, Table, Tag, Text, told
from shuffledp.documents.words import NOTHING, Loss

TITLES = {
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


def grounds_of(statements: Sequence[PrivacyStatement]) -> tuple[Block, ...]:
    """Grounds of the first statement, and the other statements."""
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
    """The statement as a paragraph, and further needs of its theorems."""
    bases = {"": statement.basis} | {f"{leaf.label}: ": leaf.statement.basis for leaf in statement.leaves()}
    needed = [(f"{of}{each.requirement}", each.value) for of, basis in bases.items() for each in basis.hypotheses]
    heads = (Column("Needed", left=True), Column("Found", left=True))
    table = Table("", heads, tuple(needed), look="", label="Hypotheses")
    return (*told(str(statement)), *((table,) if needed else ()))


def known_besides(others: Sequence[PrivacyStatement], first: PrivacyStatement | None = None) -> tuple[Block, ...]:
    """Further statements in a table, marked by kind, without repetition of ``first``."""
    heads = (Column("What else is known", left=True), Column("Loss", left=True), Column("By", left=True))
    rows = tuple(_row(each, first) for each in others)
    table = Table("", heads, rows, look="known", label="What else is known", on=PAGE)
    meant = dict.fromkeys(each.kind for each in others if first is None or not each.kind.promises)
    return (table, *(_kind(kind, _MEANINGS[kind]) for kind in meant))


def trusting(trust: Iterable[Trust]) -> str:
    """The trusted parties and conditions, in words."""
    return f"Trusting: {', '.join(each.name_of_trusted for each in trust) or 'nobody'}"


def _kind(kind: Kind, text: str) -> Text:
    return Text(text, tags=(Tag(TITLES[kind], "promise" if kind.promises else ""),), on=PAGE)


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
    name = Cell(text=about, note=" ".join(filter(None, notes)), tags=(Tag(TITLES[kind], "promise" * kind.promises),))
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
