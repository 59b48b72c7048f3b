"""What is learned about one person, in words: how often the best guess is right before and after each protection."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import FrequencyModel, ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.document import (
    PAGE,
    Bar,
    Bars,
    Beside,
    Block,
    Column,
    Document,
    Promise,
    Role,
    Section,
    Table,
    Text,
    told,
)
from shuffledp.documents.leakage_wording import (
    ADVERSARIES,
    CORRELATED,
    NAMES,
    after_seeing,
    as_share,
    between,
    change,
    contributions,
    seen_in,
)
from shuffledp.documents.words import count
from shuffledp.leakage import (
    BestGuess,
    Comparison,
    TargetExamination,
    Vulnerability,
    Way,
    compare_ways,
    worst_exchange_vulnerability,
)
from shuffledp.leakage.target_examination import MOST_LISTED
from shuffledp.survey import ColumnOutcome

_CAPACITIES = {
    "exactly": "no belief about the person, and no aim without losses, makes more of it",
    "at most": "no belief about the person, and no aim without losses, makes more of it",
    "at least": "some belief about the person makes as much of it; others may make more",
    "about": "of the most that any belief, with an aim without losses, makes of it",
}
_NUMBERS = (
    "Not computed for numbers: how well one is guessed depends on what is believed of all possible ones, and on how "
    "near is near enough. What is promised about any two numbers is at the top of this page."
)
_SHARE = "All of this is about this release of this column alone; the other releases tell more."
_STYLES = {"randomizing": "randomizing", "shuffling": "shuffling", "both": "both"}
_MOST_VALUES, _MOST_NAMES, _MOST_TIED = 64, 8, 3
_DIGITS = 6


def leakage_document(
    found: TargetExamination | Comparison, answers: tuple[str, ...], *, counts_right: bool
) -> Document:
    """What somebody learns: a sentence first, then the numbers, best guesses, and the comparison of protections.

    Args:
        found: what was worked out.
        answers: the names of the values, as far as there are any.
        counts_right: whether right guesses are counted; else guesses are worth what a table says.
    """
    if isinstance(found, Comparison):
        alone = "The protocol's own number is not known; it is at most that of randomizing only."
        comparison = Section(anchor="ways", title="", blocks=tuple(_ways(found, counts_right=counts_right)))
        return Document(promise=_learned(alone), sections=(comparison,))
    sentence = after_seeing(found.found, seen_in(found.model), counts_right=counts_right)
    more = (found.found.reasons, CORRELATED if found.adversary == "uninformed" else "")
    compared = () if found.comparison is None else tuple(_ways(found.comparison, counts_right=counts_right))
    blocks = (_measures(found), *told(*more), *_guesses(found, answers), *compared)
    return Document(promise=_learned(sentence), sections=(Section(anchor="leakage", title="", blocks=blocks),))


def _learned(sentence: str) -> Promise:
    return Promise(title="What is learned", headline=(Text(sentence, Role.LEAD),))


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
    if found.worst is not None:
        worst = found.worst
        about = f"{worst.kind}: any shuffle that is as imperfect"
        rows.append(("worst posterior", _number(worst.value, worst.kind.relation), about))
    if found.capacity is None:
        rows.append(("capacity", "-", "not known"))
    else:
        about = f"{found.capacity.kind}: {_CAPACITIES[found.capacity.kind.relation]}"
        rows.append(("capacity", _number(found.capacity.value, found.capacity.kind.relation), about))
    columns = (Column("measure", left=True), Column("value"), Column("kind", left=True, folds=True))
    return Table("", columns, tuple(rows), headed=False)


def _number(value: float, relation: str = "") -> str:
    return "inf" if math.isinf(value) else in_digits(value, relation, digits=_DIGITS)


def _guesses(found: TargetExamination, answers: tuple[str, ...]) -> Iterable[Block]:
    """The best guess for each histogram that can be seen, or why they are not listed."""
    if found.guesses is None:
        if found.adversary == "uninformed":
            why = "not listed where the order matters too"
            if found.model.shuffle.is_uniform:
                why = f"more than the {MOST_LISTED} histograms that are listed can be seen"
            yield Text(f"Best guesses: {why}.")
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
    heads = (f"reports seen of {_kinds(found, answers)}", "probability", "best guess")
    last = "right" if found.counts_right else "worth"
    columns = tuple(Column(name, left=place == 0, folds=True) for place, name in enumerate((*heads, last)))
    yield Table("", columns, rows)
    if any(guess.tied for guess in found.guesses):
        yield Text("Guesses with an 'or' between them are equally good.")


def _guessed(guess: BestGuess, answers: tuple[str, ...]) -> str:
    """The best guess, and all that are as good, or how many."""
    every = (guess.guess, *guess.tied)
    names = [answers[number] if number < len(answers) else str(number) for number in every]
    return " or ".join(names) if len(names) <= _MOST_TIED else f"{names[0]} or {len(names) - 1} others"


def _kinds(found: TargetExamination, answers: tuple[str, ...]) -> str:
    """Whose numbers are listed: answers, where reports are answers, and else the randomizer's outputs by number."""
    size = len(found.guesses[0].seen) if found.guesses else 0
    if found.model.local.kind != "k-rr":
        return f"kinds 0 to {size - 1}"
    names = answers if len(answers) == size else tuple(map(str, range(size)))
    return ", ".join(names) if size <= _MOST_NAMES else f"{names[0]} to {names[-1]}"


def _ways(found: Comparison, *, counts_right: bool) -> Iterable[Block]:
    """Each protection with what it leaves to learn, and what follows."""
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
    return as_share(value, relation, decimals=2) if counts_right else in_digits(value, relation)


def leakage_section(outcome: ColumnOutcome) -> Section:
    """Bars from 0 to 100 percent for each adversary, or one sentence on why there are none."""
    return Section(anchor="leakage", title="What can be guessed about one person", blocks=tuple(_learned_of(outcome)))


def _learned_of(outcome: ColumnOutcome) -> Iterable[Block]:
    """What the page of a release says: all of it, or why not."""
    local, model, command = outcome.model.local, outcome.model, _command(outcome)
    share = told(_SHARE if len(outcome.statements[0].parts) > 1 else "", on=PAGE)
    longer = f" {command} tries for longer."
    if not isinstance(local, FrequencyModel):
        return (*share, Text(_NUMBERS, on=PAGE))
    if local.domain_size > _MOST_VALUES:
        why = f"Not computed for this page: it would take long for {count(local.domain_size)} answers."
        return (*share, Text(why + longer, code=(command,), on=PAGE))
    try:
        found = _bounded(compare_ways(model, sampling=False, method="quick"), model.shuffle.kind)
    except UnsupportedModelError as error:
        return (*share, Text(f"Not computed: {error}", on=PAGE))
    last = found.way("both") or found.way("randomizing")
    seen = last.uninformed if last else None
    sentence = told(after_seeing(seen, seen_in(model)) if seen else "", role=Role.LEAD, on=PAGE)
    worst = worst_of(model)
    known = (
        f"This shuffler's own law is known. Of any other that is no more imperfect, the best guess of somebody who "
        f"knows nobody's answer is right at most {worst} of the time."
    )
    return (
        *sentence,
        *share,
        *_drawn(outcome, found, command),
        *told(known if worst else "", on=PAGE),
        *told(*(f"Not computed for this page: {reason}" for reason in found.left_out), role=Role.NOTE, on=PAGE),
        *(_what_is_left_out(command) if found.left_out else ()),
    )


def _what_is_left_out(command: str) -> tuple[Text, ...]:
    text = (
        "After both, no more is known here than what one's own report tells, which is drawn as a bound. "
        f"{command} tries for longer; where it refuses too, --method monte-carlo may give an estimate."
    )
    return (Text(text, Role.NOTE, code=(command, "--method monte-carlo"), on=PAGE),)


def _drawn(outcome: ColumnOutcome, found: Comparison, command: str) -> Iterable[Block]:
    """How to read the bars, the bars for both adversaries, and what they are not."""
    people = count_of(outcome.model.num_users, "person", "people")
    local = outcome.model.local
    size = local.domain_size if isinstance(local, FrequencyModel) else 0
    seedless = any(statement.withdrawn for statement in outcome.release.statements)
    at_equal_error = (
        f" These ways do not err alike: shuffling only would publish exact counts, and {command} --compare compares at "
        "equal error."
    )
    yield Text(
        f"How often the best possible guess about one of the {people} is right, if each of the {count(size)} answers "
        f"was equally likely before{', for a run without a seed' if seedless else ''}. The gray part of a bar is how "
        "often it was right before, and the colored part is what has been learned."
        f"{at_equal_error if outcome.model.shuffle.kind != 'none' else ''}",
        code=(f"{command} --compare",),
        on=PAGE,
    )
    heads = ("What is done", "Right guesses", "Drawn, from 0 to 100%")
    sides = tuple(
        (Bars(f"Somebody {whom}", heads, bars_of(found, adversary), "guesses"),)
        for adversary, whom in ADVERSARIES.items()
    )
    yield Beside(sides, on=PAGE)
    yield Text(
        f"{CORRELATED} These numbers are about one belief beforehand and no promise; what is promised, whatever "
        "anybody believes, is at the top of this page.",
        bold=(CORRELATED,),
        on=PAGE,
    )


def worst_of(model: ProtocolModel) -> str:
    """Of an imperfect shuffler of a known law: what is left if only its imperfection is as promised; "" for others."""
    if model.shuffle.kind != "imperfect" or model.shuffle.is_uniform or not model.shuffle.position_laws():
        return ""
    return change(worst_exchange_vulnerability(model))[0]


def _command(outcome: ColumnOutcome) -> str:
    """What asks the library for more about this task."""
    task, options = outcome.column, ["shuffledp leakage TASK.toml"]
    options.append("--input FILE" if task.groups is not None else f"--users {outcome.model.num_users}")
    if len(outcome.statements[0].parts) > 1:
        options.append("--value COLUMN")  # perhaps one of several
    return " ".join(options)


def _bounded(found: Comparison, kind: str) -> Comparison:
    """With what one's own report tells as a bound after a shuffle; only that where nothing is shuffled."""
    alone = found.way("randomizing")
    if kind == "none" or alone is None:
        return replace(found, ways=tuple(way for way in found.ways if way.name == "randomizing"))
    return replace(found, ways=tuple(_at_most(way, alone) if way.name == "both" else way for way in found.ways))


def _at_most(way: Way, alone: Way) -> Way:
    known = {
        name: replace(bound, lower=bound.prior, kind=Kind.UPPER_BOUND)
        for name in ADVERSARIES
        if getattr(way, name) is None and (bound := getattr(alone, name)) is not None
    }
    return replace(way, **known)


def bars_of(found: Comparison, adversary: str) -> tuple[Bar, ...]:
    """How often the guess of an adversary is right before anything is seen, and after each protection."""
    before = Bar(
        name="Before",
        note="nothing has been seen",
        value=as_share(found.prior),
        before=100 * found.prior,
        length=0.0,
        style="before",
    )
    alone = found.way("randomizing")
    most = None if alone is None else getattr(alone, adversary)
    known: Sequence[tuple[str, Vulnerability]] = [
        (way.name, each) for way in found.ways if (each := getattr(way, adversary)) is not None
    ]
    return (before, *(_bar(name, each, most if name == "both" else None) for name, each in known))


def _bar(name: str, found: Vulnerability, most: Vulnerability | None) -> Bar:
    """Drawn up to the upper end; what is as bad as randomizing only, ``most``, is written as that is."""
    relation, drawn = found.kind.relation, found.value
    share, note = change(found)[0], {"exactly": "exact"}.get(relation, relation)
    if found.kind is Kind.LOWER_BOUND:
        share, note, drawn = between(found), "lower and upper bound", found.upper
    elif most is not None and math.isclose(found.value, most.value, rel_tol=1e-12):
        share = change(most)[0]
    return Bar(
        name=NAMES[name],
        note=note,
        value=share,
        before=100 * found.prior,
        length=max(100 * (min(drawn, 1.0) - found.prior), 0.0),
        style=_STYLES[name],
    )
