"""Leakage about one person in words: the chance of the best guess before and after each protection."""

import math
from collections.abc import Iterable

from shuffledp.accounting.theorem import fake_senders
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import FrequencyModel, ProtocolModel
from shuffledp.core.statement_terms import Kind, Trust
from shuffledp.core.text import as_share, count_of, in_digits
from shuffledp.documents.blocks import DETAIL, PAGE, TERMINAL, Bar, Bars, Block, Column, Panels, Role, Table, Text, told
from shuffledp.documents.document import Document, Promise, Section
from shuffledp.documents.statement_document import trusting, with_loss
from shuffledp.documents.words import count, hiding
from shuffledp.leakage import (
    BestGuess,
    Comparison,
    HouseholdLeakage,
    TargetExamination,
    Vulnerability,
    Way,
)
from shuffledp.leakage.protocol_leakage import least_hidden
from shuffledp.leakage.target_examination import MOST_LISTED, worst_like
from shuffledp.planning.guaranteed_leakage import compare_guaranteed
from shuffledp.survey import ColumnOutcome

CORRELATED = (
    "People whose answers go together, such as households, leak more than this: then one person's report tells about "
    "another's answer too."
)
NAMES = {
    "randomizing": "Randomizing only",
    "shuffling": "Shuffling only",
    "sample": "Shuffling only, a random sample",
    "both": "Randomizing and shuffling",
}
_IN_SENTENCES = {
    "randomizing": "randomizing alone",
    "shuffling": "shuffling alone",
    "sample": "shuffling a sample alone",
    "both": "both together",
}
ADVERSARIES = {"uninformed": "who knows nobody's answer", "strong": "who knows everybody else's answer"}
_MOST_DECIMALS, _DIGITS, _WIDE = 10, 6, 1.1
_CAPACITIES = {
    "exactly": "no belief about the person, and no aim without losses, makes more of it",
    "at most": "no belief about the person, and no aim without losses, makes more of it",
    "at least": "some belief about the person makes as much of it; others may make more",
    "about": "of the most that any belief, with an aim without losses, makes of it",
}
ONE_RELEASE = "All of this is about this release of this column alone; the other releases tell more."
_MOST_VALUES, _MOST_NAMES, _MOST_TIED = 64, 8, 3


def leakage_document(
    found: TargetExamination | Comparison, answers: tuple[str, ...] = (), *, counts_right: bool | None = None
) -> Document:
    """Document on leakage: one sentence first, then numbers, best guesses, and a comparison of protections.

    ``answers`` are the names of the values, as far as there are any; unless ``counts_right``, a table says what guesses
    are worth. None is what an examination says itself.
    """
    if counts_right is None:
        counts_right = getattr(found, "counts_right", True)
    if isinstance(found, Comparison):
        alone = "The protocol's own number is not known; it is at most that of randomizing only."
        comparison = Section(anchor="ways", title="", blocks=tuple(_ways(found, counts_right=counts_right)))
        return Document(promise=_learned(alone), sections=(comparison,))
    sentence = after_seeing(found.found, seen_in(found.model), counts_right=counts_right)
    correlated = CORRELATED if found.adversary == "uninformed" else ""
    compared = () if found.comparison is None else tuple(_ways(found.comparison, counts_right=counts_right))
    reasons = told(found.found.reasons, on=DETAIL | PAGE)
    blocks = (_measures(found), *reasons, *told(correlated), *_guesses(found, answers), *compared)
    promise = _learned(sentence, _facts(found), found.model)
    return Document(promise=promise, sections=(Section(anchor="leakage", title="", blocks=blocks),))


def household_section(found: HouseholdLeakage) -> Section:
    """Section on a person whose household answers alike: after one release, and after arbitrarily many."""
    after, alone, always = (as_share(each, "at most", decimals=4) for each in (found.value, found.alone, found.always))
    others = count_of(found.household - 1, "other person", "other people")
    agree = "always" if found.agreement == 1 else f"with chance {found.agreement:g}"
    return Section(
        anchor="household",
        title="A household that answers alike",
        blocks=told(
            f"Of somebody who {agree} gives the same answer as {others} at home, the best guess is right "
            f"{after} of the time; of somebody whose answer goes with nobody's, {alone}.",
            f"If the same answers are asked for again and again, it never gets above {always}: more releases tell more "
            "of the histogram of answers, and nothing of whose they are.",
        ),
    )


def _learned(sentence: str, facts: tuple[str, ...] = (), model: ProtocolModel | None = None) -> Promise:
    """Promise of a document on leakage: its numbers and sentence, and the trust that the ``model`` needs."""
    trust = () if model is None else (Trust.OWN_DEVICE, *model.local.trust, *model.shuffle.trust)
    fakes = () if model is None else fake_senders(model, shuffled=bool(model.shuffle.trust))
    needed = "; ".join([trusting(trust), *(each.requirement for each in fakes)])
    whom = told(f"{needed}." if trust else "", on=TERMINAL)
    return Promise(title="What is learned", facts=facts, headline=told(sentence, role=Role.LEAD), trust=whom)


def _facts(found: TargetExamination) -> tuple[str, ...]:
    """Chance of the best guess, chance beforehand, and number of reports."""
    each, relation = found.found, found.found.kind.relation
    after, before = _number(each.value, relation), _number(each.prior)
    if found.counts_right:
        after, before = change(each)
    sign = {"at most": "<= ", "at least": ">= ", "about": "~ "}.get(relation, "")
    counted = with_loss(hiding(least_hidden(found.model), "report", "reports"), found.model.local.guarantee)
    return f"{'right' if found.counts_right else 'worth'} {sign}{after}", f"before {before}", counted


def _measures(found: TargetExamination) -> Table:
    """Every measure with its number and its kind."""
    each, kind = found.found, str(found.found.kind)
    relation = each.kind.relation
    ends = _number(each.lower, "at least"), _number(each.upper, "at most")
    interval = f", from {ends[0]} to {ends[1]}" if each.lower < each.upper and ends[0] != ends[1] else ""
    rows = [
        ("prior vulnerability", _number(each.prior), ""),
        ("posterior vulnerability", _number(each.value, relation), f"{kind} ({each.method}){interval}"),
        ("additive leakage", _number(each.additive_leakage, relation), kind),
        ("multiplicative leakage", _number(each.multiplicative_leakage, relation), kind),
    ]
    if (worst := found.worst) is not None:
        about = f"{worst.kind}: any shuffle that is as imperfect"
        rows.append(("worst posterior", _number(worst.value, worst.kind.relation), about))
    if (most := found.capacity) is None:
        rows.append(("capacity", "-", "not known"))
    else:
        about = f"{most.kind}: {_CAPACITIES[most.kind.relation]}"
        rows.append(("capacity", _number(most.value, most.kind.relation), about))
    columns = (Column("measure", left=True), Column("value"), Column("kind", left=True, folds=True))
    return Table("", columns, tuple(rows), look="", headed=False)


def _number(value: float, relation: str = "") -> str:
    """Number of a leakage in digits; exact numbers, which promise nothing, are rounded to nearest."""
    return "inf" if math.isinf(value) else in_digits(value, "" if relation == "exactly" else relation, digits=_DIGITS)


def _guesses(found: TargetExamination, answers: tuple[str, ...]) -> Iterable[Block]:
    """The best guess for each visible histogram, or the reason why none are listed."""
    if found.guesses is None:
        many = f"there are more than {MOST_LISTED} histograms"
        why = many if found.model.shuffle.worst_off.is_uniform else "their order matters too"
        not_listed = f"The best guess for each set of reports is not listed: {why}."
        yield from told(not_listed if found.adversary == "uninformed" else "", on=DETAIL | PAGE)
        return
    rows = tuple(
        (
            ", ".join(map(str, guess.seen)),
            f"{guess.probability:.4g}",
            _guessed(guess, answers if found.counts_right else ()),
            as_share(guess.worth) if found.counts_right else f"{guess.worth:.4g}",
        )
        for guess in found.guesses
    )
    last = "right" if found.counts_right else "worth"
    heads = (f"reports seen of {_kinds(found, answers)}", "probability", "best guess", last)
    columns = tuple(Column(name, left=place == 0, folds=True) for place, name in enumerate(heads))
    yield Table("", columns, rows, on=DETAIL | PAGE)
    if any(guess.tied for guess in found.guesses):
        yield Text("Guesses with an 'or' between them are equally good.", on=DETAIL | PAGE)


def _guessed(guess: BestGuess, answers: tuple[str, ...]) -> str:
    """The best guess with equally good guesses, or the number of equally good guesses."""
    every = (guess.guess, *guess.tied)
    names = [answers[number] if number < len(answers) else str(number) for number in every]
    return " or ".join(names) if len(names) <= _MOST_TIED else f"{names[0]} or {len(names) - 1} others"


def _kinds(found: TargetExamination, answers: tuple[str, ...]) -> str:
    """Names of the listed kinds of reports: answers if reports are answers, else numbered outputs."""
    size = len(found.guesses[0].seen) if found.guesses else 0
    if found.model.local.kind != "k-rr":
        return f"kinds 0 to {size - 1}"
    names = answers if len(answers) == size else tuple(map(str, range(size)))
    return ", ".join(names) if size <= _MOST_NAMES else f"{names[0]} to {names[-1]}"


def _ways(found: Comparison, *, counts_right: bool) -> Iterable[Block]:
    """Table of each protection with the leakage that remains, then conclusions."""
    before = _cell(found.prior, "", counts_right=counts_right)
    rows = [("Nothing seen", "", "", before, before)]
    for way in found.ways:
        error = "-" if way.error is None else f"{way.error:.4g}"
        learned = [_vulnerability(each, counts_right=counts_right) for each in (way.uninformed, way.strong)]
        rows.append((NAMES[way.name], f"{way.people:,}", error, learned[0], learned[1]))
    heads = (Column("way", left=True, folds=True), *map(Column, ("people", "error", "uninformed", "strong")))
    yield Table("", heads, tuple(rows))
    yield from told(*contributions(found, counts_right=counts_right))
    if not any(way.name == "both" for way in found.ways):
        yield Text("Nothing is shuffled: randomizing is all there is.")
    yield from told(*(f"Left out: {reason}" for reason in found.left_out))


def _vulnerability(found: Vulnerability | None, *, counts_right: bool) -> str:
    if found is None:
        return "-"
    if counts_right and found.kind is Kind.LOWER_BOUND:
        return between(found, decimals=2)
    sign = {"at most": "<= ", "at least": ">= ", "about": "~ "}.get(found.kind.relation, "")
    return sign + _cell(found.value, found.kind.relation, counts_right=counts_right)


def _cell(value: float, relation: str, *, counts_right: bool) -> str:
    return as_share(value, relation, decimals=2) if counts_right else _number(value, relation)


def leakage_section(outcome: ColumnOutcome) -> Section | None:
    """Section on leakage with bars for each adversary, or the reason for none; None for numerical answers.

    How well a number is guessed depends on what is believed of all possible ones, and on how near is near enough.
    """
    if not isinstance(outcome.model.local, FrequencyModel):
        return None
    return Section(anchor="leakage", title="What can be guessed about one person", blocks=tuple(_learned_of(outcome)))


def _learned_of(outcome: ColumnOutcome) -> Iterable[Block]:
    """Blocks of the leakage section of a release, or the reason why leakage is not computed."""
    model, command, size = outcome.model, _command(outcome), len(outcome.column.randomizer.targets)
    share = told(ONE_RELEASE if len(outcome.statements[0].parts) > 1 else "", on=PAGE)
    if size > _MOST_VALUES:
        why = f"Not computed for this page: it would take long for {count(size)} answers. {command} tries for longer."
        return (*share, Text(why, code=(command,), on=PAGE))
    try:
        found = compare_guaranteed(model, delta=outcome.column.release.delta, sampling=False, method="quick")
    except UnsupportedModelError as error:
        return (*share, Text(f"Not computed: {error}", on=PAGE))
    last = found.way("both") or found.way("randomizing")
    sentence = after_seeing(last.uninformed, seen_in(model)) if last and last.uninformed else ""
    worst = worst_of(model)
    known = (
        f"This shuffler's own law is known. Of any other that is no more imperfect, the best guess of somebody who "
        f"knows nobody's answer is right at most {worst} of the time."
    )
    reasons = "; ".join(each.rstrip(".") for each in found.left_out)
    left_out = (
        f"Not computed for this page: {reasons}. Of what is promised and what one's own report tells, the smaller is "
        f"drawn as a bound; {command} tries for longer."
    )
    return (
        *told(sentence, role=Role.LEAD, on=PAGE),
        *share,
        *_drawn(outcome, found, count(size)),
        *told(known if worst else "", on=PAGE),
        *((Text(left_out, Role.NOTE, code=(command,), on=PAGE),) if found.left_out else ()),
    )


def _drawn(outcome: ColumnOutcome, found: Comparison, size: str) -> Iterable[Block]:
    """Guide to the bars, bars of both adversaries, and a note on people whose answers go together."""
    least = least_hidden(outcome.model)
    people = f"{hiding(least, 'person', 'people')}{' of the smallest stratum' * (least is not outcome.model)}"
    seedless = any(statement.withdrawn for statement in outcome.release.statements)
    at_equal_error = " Shuffling only would publish exact counts."
    yield Text(
        f"Gray: a guess about one of {people} before, with {size} equally likely answers. In color: what has been "
        f"learned{', for a run without a seed' if seedless else ''}."
        f"{at_equal_error if outcome.model.shuffle.kind != 'none' else ''}",
        on=PAGE,
    )
    heads = ("What is done", "Right guesses", "Drawn, from 0 to 100%")
    sides = [Bars(f"Somebody {whom}", heads, bars_of(found, known), "guesses") for known, whom in ADVERSARIES.items()]
    yield Panels(tuple((side,) for side in sides), on=PAGE)
    yield Text(
        f"{CORRELATED} The promise at the top holds whatever anybody believes.",
        bold=(CORRELATED,),
        on=PAGE,
    )


def worst_of(model: ProtocolModel) -> str:
    """Largest leakage over all shufflers as imperfect as the model's, in words; "" where unknown."""
    found = worst_like(model)
    return "" if found is None else change(found, "at most")[0]


def _command(outcome: ColumnOutcome) -> str:
    """The command that prints more about this task's leakage."""
    by_input = outcome.column.shuffler.needs_groups or outcome.column.shuffler.needs_strata
    people = "--input FILE" if by_input else f"--users {outcome.model.num_senders}"
    several = len(outcome.statements[0].parts) > 1  # the parts may be columns
    return f"shuffledp leakage TASK.toml {people}{' --value COLUMN' * several}"


def bars_of(found: Comparison, adversary: str) -> tuple[Bar, ...]:
    """Chances of an adversary's right guess: before seeing anything, and after each protection."""
    before = 100 * found.prior
    bars = [Bar(name="Before", value=as_share(found.prior), before=before, length=0.0, style="before")]
    for way in found.ways:
        if (known := getattr(way, adversary)) is not None:
            bars.append(_bar(way.name, known))
    return tuple(bars)


def _bar(name: str, found: Vulnerability) -> Bar:
    """Bar of one chance of a right guess, or of the upper end of its interval."""
    relation, drawn = found.kind.relation, found.value
    share, note = change(found)[0], "" if found.kind is Kind.EXACT else relation
    if found.kind is Kind.LOWER_BOUND:
        share, note, drawn = between(found), "lower and upper bound", found.upper
    before, length = 100 * found.prior, max(100 * (min(drawn, 1.0) - found.prior), 0.0)
    return Bar(name=NAMES[name], note=note, value=share, before=before, length=length, style=name)


# ---- sentences and percentages, rounded so that a bound stays true ---------------------------------------------------


def change(found: Vulnerability, relation: str = "") -> tuple[str, str]:
    """Chance of a right guess and its prior in percent, with enough decimals to tell them apart.

    They also tell a chance below 1 from 1.

    The ``relation`` is what is said before the value; "" is that of its kind.
    """
    relation = relation or found.kind.relation
    for decimals in range(1, _MOST_DECIMALS + 1):
        after, before = as_share(found.value, relation, decimals=decimals), as_share(found.prior, decimals=decimals)
        if float(after[:-1]) > float(before[:-1]) and (float(after[:-1]) < 100 or found.value >= 1):
            return after, before
    return as_share(found.value, relation), as_share(found.prior)


def between(found: Vulnerability, *, decimals: int = 1) -> str:
    """The interval in percent, rounded outward; one number if both ends look alike."""
    low = as_share(found.lower, "at least", decimals=decimals)
    high = as_share(min(found.upper, 1.0), "at most", decimals=decimals)
    return high if low == high else f"{low[:-1]} to {high}"


def seen_in(model: ProtocolModel) -> str:
    """The adversary's view of a protocol, in words."""
    if model.shuffle.worst_off.is_uniform:
        return "the shuffled table"
    alone = [law.counts for law in model.shuffle.position_laws()] == [(1,)]
    return "whose report is whose" if alone else "the reports in their new order"


def after_seeing(found: Vulnerability, seen: str, *, counts_right: bool = True) -> str:
    """A sentence on the chance or gain of the best guess, with the kind of the number."""
    relation = _before(found)
    start = f"After seeing {seen}, the best guess about one person is"
    if not counts_right:
        worth = _number(found.value, found.kind.relation)
        return f"{start} worth {relation}{worth} on average instead of {_number(found.prior)}."
    after, before = change(found)
    most, least = found.upper - found.prior, found.lower - found.prior
    if found.kind is Kind.UPPER_BOUND and least > 0 and most > _WIDE * least:  # one end alone would mislead
        decimals = len(after.partition(".")[2]) - 1
        rounded_down = as_share(found.lower, "at least", decimals=decimals)
        lowest = max(rounded_down, before, key=lambda share: float(share[:-1]))
        return f"{start} right between {lowest} and {after} of the time instead of {before}."
    if after == before and found.kind in (Kind.EXACT, Kind.UPPER_BOUND):
        often = "as often as before" if found.additive_leakage <= 0 else "hardly more often than before"
        return f"{start} right {before} of the time, {often}."
    return f"{start} right {relation}{after} of the time instead of {before}."


def contributions(found: Comparison, *, counts_right: bool = True) -> list[str]:
    """Sentences on what shuffling and randomizing each contribute, for both adversaries and at equal error."""
    ways = {name: way for name in NAMES if (way := found.way(name)) is not None}
    sentences = [_against(adversary, ways, counts_right=counts_right) for adversary in ADVERSARIES]
    if "sample" in ways:
        sample, both = ways["sample"], ways["both"]
        sentences.append(
            "Randomizing alone and both together estimate equally well. Shuffling alone without any randomizing errs "
            f"as much if it is of a random sample: of {sample.people:,} of {both.people:,} people."
        )
    return [sentence for sentence in sentences if sentence]


def _against(adversary: str, ways: dict[str, Way], *, counts_right: bool) -> str:
    """Sentence on how much each protection improves one adversary's best guess."""
    known = {name: getattr(way, adversary) for name, way in ways.items() if getattr(way, adversary) is not None}
    parts = [f"{_gained(each, counts_right=counts_right)} by {_IN_SENTENCES[name]}" for name, each in known.items()]
    unit = ", in percentage points" if counts_right else ""
    return f"Somebody {ADVERSARIES[adversary]} gains{unit}: {', '.join(parts)}." if parts else ""


def _gained(found: Vulnerability, *, counts_right: bool) -> str:
    gain = found.additive_leakage * (100 if counts_right else 1)
    return f"{_before(found)}{in_digits(gain, found.kind.relation, digits=3)}"


def _before(found: Vulnerability) -> str:
    """Words before a number, such as "at most"; "" for an exact number."""
    return "" if found.kind is Kind.EXACT else f"{found.kind.relation} "
