"""A privacy ledger in words: the cap, the budget used by each entry, and the releases that still fit."""

from collections.abc import Iterator

from shuffledp.core.instants import shown
from shuffledp.core.text import count_of, in_digits, printable
from shuffledp.documents.blocks import PAGE, Block, Column, Picture, Role, Table, Text, told
from shuffledp.documents.charts.chart import Axis, Chart, Dots, Line, Note, Panel
from shuffledp.documents.document import Document, Place, Section
from shuffledp.survey.ledgers.ledger import Entry, Ledger
from shuffledp.survey.ledgers.ledger_lines import EVERYBODY, Charge

_EXCEEDED = (
    "THE CAP HOLDS NO MORE: releases made elsewhere cost more than the budget. What all releases lose together is the "
    "running total below, and only if it was settled beforehand which they are."
)
_NOT_SEEN = (
    "A ledger cannot see releases that nobody adds to it, a copy of itself that is restored, or people who answer "
    "twice where there are no tokens; and it takes the word of whoever keeps it that two populations have no member in "
    "common."
)


def ledger_document(ledger: Ledger) -> Document:
    """Document of a ledger: the cap, the used budget, its entries, and the releases that still fit."""
    terms, total = ledger.terms, ledger.total()
    cap = f"epsilon <= {terms.cap:g}   delta {terms.delta:g}"
    taken = _share(total, ledger.budget)
    blocks: list[Block] = []
    if ledger.is_exceeded:
        blocks += told(_EXCEEDED, role=Role.DANGER)
    else:
        blocks.append(Text(f"{cap}   all releases of this ledger together, whatever decides on them", Role.LEAD))
        blocks += told(
            "Quote this cap, and not the running total: later releases may still be chosen by earlier results."
        )
    blocks += told(f"{taken:.1%} of the budget is taken: {_counted(ledger)}.", *_next(ledger, total))
    foreseen = total.remainder * terms.releases // max(ledger.budget.remainder, 1)
    blocks += told(f"Of {terms.releases:,} releases that it foresees {foreseen:,} are used or reserved.")
    running = in_digits(total.epsilon(terms.delta), "at most")
    blocks += told(f"Running total: epsilon = {running} at delta = {terms.delta:g}.")
    blocks += [*_populations(ledger), *_orders(ledger), *told(_NOT_SEEN, on=PAGE, role=Role.NOTE)]
    sections = [Section(anchor="budget", title="The budget", blocks=tuple(blocks), place=Place.RESULTS)]
    if ledger.entries:
        drawn = (Picture(budget_chart(ledger), has_files=False, on=PAGE), entries_table(ledger))
        sections.append(Section(anchor="entries", title="Its releases", blocks=drawn))
    return Document(
        title=f"Privacy ledger {terms.nonce[:12]}",
        kicker="Privacy ledger",
        summary=f"Begun at {shown(terms.at)}.",
        sections=tuple(sections),
    )


def entries_table(ledger: Ledger) -> Table:
    """Table of all entries, with people, state, loss by itself, and share of the budget."""
    columns = (
        Column("entry", left=True),
        Column("task", left=True, folds=True),
        Column("since", left=True, detail=True),
        Column("state", left=True),
        Column("people"),
        Column(f"epsilon alone, at delta = {ledger.terms.delta:g}", brief="alone"),
        Column("of the budget", brief="budget"),
    )
    rows = tuple(_row(entry, ledger) for entry in ledger.entries.values())
    return Table(
        "Each release by itself, and its share of the budget. Of what is only reserved the least number of people is "
        "counted.",
        columns,
        rows,
    )


def budget_chart(ledger: Ledger) -> Chart:
    """Chart of the budget used after each entry, for the population that has used most."""
    shares, taken = [0.0], dict.fromkeys((EVERYBODY, *ledger.terms.populations), 0)
    for entry in ledger.entries.values():
        taken[entry.reserved.population] += entry.charge.squared
        own = max((taken[name] for name in ledger.terms.populations), default=0)
        shares.append(100 * (taken[EVERYBODY] + own) / ledger.budget.squared)
    numbers = list(range(len(shares)))
    most = max(100.0, *shares)
    marks = (
        Line(x=[0, numbers[-1]], y=[100, 100], color="vermilion", dash="dashed"),
        Line(x=numbers, y=shares, color="blue", width=2.0),
        Dots(x=numbers[1:], y=shares[1:], color="blue"),
        Note("the cap", (0, 100), (6, -14)),
    )
    return Chart(
        name="budget",
        title="Budget over time",
        description=f"The taken share of the budget rises with each entry, to {shares[-1]:.0f} of 100 percent.",
        caption="Share of the budget taken after each entry, of the population that lost most. Dashed: the cap.",
        panels=(
            Panel(
                x=Axis(
                    label="entries, in the order of their reservation",
                    ends=(-0.02 * numbers[-1], 1.02 * max(numbers[-1], 1)),
                    ticks=(min(8, numbers[-1] + 1), min(4, numbers[-1] + 1)),
                ),
                y=Axis(label="taken of the budget", ends=(0, most * 1.08), unit=" %"),
                marks=marks,
            ),
        ),
    )


def entry_document(entry: Entry, ledger: Ledger, *said: str) -> Document:
    """Document of one entry that was just written: its share of the budget, and the unused budget."""
    share, taken = _share(entry.charge, ledger.budget), _share(ledger.total(entry.reserved.population), ledger.budget)
    count = f"{entry.left} releases of " if entry.is_plan else ""
    head = f"{printable(entry.reserved.name)}: {entry.state}, {count}entry {entry.reserved.id[:12]}."
    lines = (*said, f"It takes {share:.2%} of the budget; {taken:.1%} is taken, {max(1 - taken, 0):.1%} is left.")
    return Document(sections=(Section(anchor="entry", title="", blocks=told(head, *lines)),))


def ledger_as_dict(ledger: Ledger) -> dict[str, object]:
    """Object that ``ledger show --json`` prints (``ledger`` in docs/schema.json)."""
    terms = ledger.terms
    return {
        "ledger": terms.nonce,
        "cap": terms.cap,
        "delta": terms.delta,
        "releases": terms.releases,
        "populations": list(terms.populations),
        "head": ledger.head,
        "is_exceeded": ledger.is_exceeded,
        "taken": _share(ledger.total(), ledger.budget),
        "running_total": ledger.total().epsilon(terms.delta),
        "orders": [{"groups": groups, "alpha": alpha} for groups, alpha in ledger.orders.items()],
        "entries": [_as_dict(entry, ledger) for entry in ledger.entries.values()],
    }


def _as_dict(entry: Entry, ledger: Ledger) -> dict[str, object]:
    reserved = entry.reserved
    return {
        "id": reserved.id,
        "name": reserved.name,
        "task_sha256": reserved.task_sha256,
        "state": entry.state,
        "population": reserved.population,
        "left": entry.left,
        "since": reserved.at,
        "people": _people(entry),
        "epsilon": _alone(entry, ledger),
        "taken": _share(entry.charge, ledger.budget),
        "statements": [release.statement_sha256 for release in entry.releases],
    }


def _row(entry: Entry, ledger: Ledger) -> tuple[str, ...]:
    reserved, alone = entry.reserved, _alone(entry, ledger)
    state = f"{entry.left} of {reserved.count} planned" if entry.is_plan and entry.left else entry.state
    return (
        reserved.id[:12],
        printable(reserved.name) + (f" ({printable(reserved.population)})" if reserved.population else ""),
        shown(reserved.at),
        state,
        f"{_people(entry):,}",
        "" if alone is None else in_digits(alone, "at most"),
        f"{_share(entry.charge, ledger.budget):.2%}",
    )


def _people(entry: Entry) -> int:
    return min((release.people for release in entry.releases), default=entry.reserved.people)


def _alone(entry: Entry, ledger: Ledger) -> float | None:
    """Epsilon of the entry's release by itself at the ledger's delta; None without a charge."""
    charge = max((each.charge for each in entry.releases), key=lambda each: each.squared, default=entry.reserved.charge)
    return None if entry.state == "void" and not entry.releases else charge.epsilon(ledger.terms.delta)


def _share(charge: Charge, budget: Charge) -> float:
    """Share of the budget's squared losses that a charge takes.

    Remainders do not count here: each foreseen release has a remainder of its own.
    """
    return charge.squared / budget.squared


def _counted(ledger: Ledger) -> str:
    """Numbers of entries by their states."""
    states = [entry.state for entry in ledger.entries.values()]
    planned = sum(entry.left for entry in ledger.entries.values() if entry.is_plan)
    parts = [count_of(states.count("released"), "release"), f"{states.count('reserved')} reserved"]
    return ", ".join(parts + ([f"{planned} planned and still to come"] if planned else []))


def _next(ledger: Ledger, total: Charge) -> Iterator[str]:
    """Sentence on how many more releases like the last one still fit."""
    last = next((each for each in reversed(ledger.entries.values()) if each.state != "void"), None)
    if last is None or ledger.is_exceeded:
        return
    each, left = last.reserved.charge, ledger.budget.less(total)
    fitting = min(left.squared // max(each.squared, 1), left.remainder // max(each.remainder, 1))
    more = count_of(fitting, "more release") if fitting else "no more release"
    yield f"What fits next: {more} like {printable(last.reserved.name)}, with at least {last.reserved.people:,} people."


def _populations(ledger: Ledger) -> Iterator[Block]:
    """Sentence on each population that the ledger distinguishes."""
    for name in ledger.terms.populations:
        yield from told(f"{printable(name)}: {_share(ledger.total(name), ledger.budget):.1%} of the budget is taken.")
    if ledger.terms.populations and ledger.total(EVERYBODY).squared:
        yield from told("Populations have no member in common, so that the one that lost most counts.")


def _orders(ledger: Ledger) -> Iterator[Block]:
    """Sentence on each loss about the order inside groups; such losses have no cap, and add up."""
    for groups, alpha in ledger.orders.items():
        yield from told(
            f"Of the order inside groups {groups[:12]} all releases lose alpha = {in_digits(alpha, 'at most')}."
        )
