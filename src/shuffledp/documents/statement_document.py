"""A privacy statement in words: its numbers, meaning, trust, grounds, and further knowledge."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from shuffledp.core.guarantees import DifferentialPrivacy, DSigmaPrivacy, Guarantee, LocalDP, Neighbors
from shuffledp.core.statement_terms import Kind, Unit
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import in_digits, shown_relation
from shuffledp.documents.document import (
    DETAIL,
    PAGE,
    TERMINAL,
    Block,
    Document,
    Fold,
    Headline,
    Listing,
    Meter,
    Promise,
    Role,
    Section,
    Text,
    told,
)
from shuffledp.documents.grounds_document import TITLES, grounds_of, known_besides, trusting
from shuffledp.documents.words import Guess, Loss

_SIGNS = {"at most": "<=", "at least": ">=", "exactly": "="}


def promise_of(statements: Sequence[PrivacyStatement], counted: str = "") -> Promise:
    """The first statement in parts, and the others in short, marked by kind; ``counted`` describes the reports."""
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
    """Document of one statement by itself; one without a promise is shown as it is beside a promise."""
    if statement.kind.promises:
        return statements_document([statement])
    known = Section(anchor="statement", title="", blocks=known_besides([statement]))
    return Document(sections=(known,))


def with_share(document: Document, share: str) -> Document:
    """The document, with its promise marked as a ``share`` of a larger one; unchanged for ""."""
    promise = document.promise
    if promise is None:
        return document
    return replace(document, promise=replace(promise, headline=(*told(share), *promise.headline)))


# ---- in short, for a terminal ----------------------------------------------------------------------------------------


def facts_of(statement: PrivacyStatement) -> tuple[str, ...]:
    """Epsilon or alpha, and delta, as far as they are promised."""
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
    """Number of reports, with the loss of each by itself, or of all reports of one person."""
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
    """Trusted parties and further assumptions, on one line."""
    if statement.guarantee.is_trivial:
        return ()
    trusted = {text for each in statement.trust for text in (statement.words_of(each), each.text_beside_fakes)}
    needed = "; ".join([trusting(statement.trust), *(each for each in statement.needs if each not in trusted)])
    return told(f"{needed}. More: -v", on=TERMINAL)


def _other(statement: PrivacyStatement, *, of_several: bool) -> Text:
    """A further statement on one line; one about orders stands apart, all others are details."""
    on = TERMINAL if isinstance(statement.guarantee, DSigmaPrivacy) else DETAIL
    return Text(f"  {statement.in_short}{_whose(statement) if of_several else ''}", Role.NOTE, on=on)


def _whose(statement: PrivacyStatement) -> str:
    """Remarks of a lower bound, which name its column or release; "" for all other statements."""
    return ". " + " ".join(statement.remarks) if statement.kind is Kind.LOWER_BOUND and statement.remarks else ""


def _withdrawn(first: PrivacyStatement, others: Sequence[PrivacyStatement]) -> Iterable[Block]:
    """The reason why nothing is promised, and the statement as it would have been."""
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
        kinds = ", ".join(TITLES[each.kind].lower() for each in others)
        yield Text(f"The other statements about this run ({kinds}) are withdrawn too.", on=PAGE)


def _plainly(statement: PrivacyStatement) -> tuple[Text, ...]:
    """Meaning of the numbers for one person, without terms of the field."""
    guess = guess_of(statement)
    return () if guess is None else told(guess.plainly(several=bool(statement.parts)), role=Role.LEAD, on=PAGE)


def _large(statement: PrivacyStatement) -> Headline:
    """The displayed numbers, the sentence, and a note if the promise is weak."""
    loss = Loss.of(statement.guarantee, statement.kind.relation)
    numbers = () if loss is None else (
        (f"epsilon, {loss.epsilon_relation}", loss.epsilon),
        ("remainder (delta)", loss.delta),
    )  # fmt: skip
    return Headline(numbers, statement.sentence_of(statement.guarantee), _weakness(statement), on=PAGE)


def per_report(statement: PrivacyStatement) -> str:
    """A note that a person who sends several reports loses more; "" where that is counted."""
    return "This is per report: somebody who sends several must add them up." * (statement.unit is Unit.REPORT)


def _weakness(statement: PrivacyStatement) -> str:
    return statement.guarantee.weakness if statement.kind.promises else ""


def _meaning(statement: PrivacyStatement) -> Iterable[Block]:
    """The game, the remainder, and the limits of the protection."""
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
