"""Walks on overlays in words: guarantee and cost of a task's overlay, and a choice of overlays."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.blocks import DETAIL, PAGE, Block, Cell, Column, Fold, Role, Table, Text, told
from shuffledp.documents.document import Document, Promise, Section
from shuffledp.documents.family_document import FamilyDocument
from shuffledp.documents.words import NOTHING, count
from shuffledp.protocols.network.documents.network_document import network_plan_blocks, network_section
from shuffledp.protocols.network.documents.walk_blocks import (
    MESSAGE_BYTES,
    better_sentence,
    chance_of,
    churn_sentence,
    held_bars,
    links_text,
    passed_sentence,
    rounds_walked,
    trust_blocks,
    walk_section,
)
from shuffledp.protocols.network.planning.network_plan import NetworkPlan
from shuffledp.protocols.network.planning.overlay_designs import OverlayDesigns, RandomGraph
from shuffledp.protocols.network.planning.overlay_plan import OverlayPlan
from shuffledp.protocols.network.survey.network_section import WalkResult
from shuffledp.survey import ColumnOutcome, ColumnPlan, Plan

_GATE = 1.1  # suggested gate, as a multiple of the epsilon of a uniform shuffle
_SPOILED = 2.0  # multiple of a uniform shuffle's epsilon above which a reason is given first
_CYCLES = 4  # most cycles of an overlay's rounds that a gate waits


class WalksDocument(FamilyDocument):
    """Parts of pages about walks, along graphs or on an overlay."""

    def release_sections(self, outcome: ColumnOutcome) -> Iterable[Section | None]:
        """Sections on the results of walks along graphs or on an overlay."""
        return network_section(outcome), overlay_section(outcome)

    def plan_blocks(self, plan: Plan, column: ColumnPlan, *, table: bool) -> Iterable[Block]:
        """Text on planned walks; with ``table`` also tables by round and by part of the graph."""
        planned, delta, bits = column.of_shuffle, plan.task.release.delta, column.chosen.report_bits
        if isinstance(planned, OverlayPlan):
            return overlay_plan_blocks(planned, delta, bits)
        return network_plan_blocks(planned, delta, bits, table=table) if isinstance(planned, NetworkPlan) else ()


def overlay_plan_blocks(plan: OverlayPlan, delta: float, bits: int | None) -> tuple[Block, ...]:
    """Text on the guarantee and cost of an overlay.

    ``bits`` is the size of a report, None if sizes differ.
    """
    better, passed = better_sentence(plan), passed_sentence(plan, bits, most=f"{plan.own.messages_most:,.1f}")
    churn, colluders = churn_sentence(plan.churn, plan.own.rounds), _colluders(plan)
    spoiled = plan.churn is None and plan.epsilon > _SPOILED * plan.uniform  # only colluders or losses cause this
    return (
        *told(
            _guarantee(plan, delta),
            colluders if spoiled else "",
            churn,
            better,
            passed,
            links_text(plan.links, onion=plan.onion),
        ),
        *told(f"{_overlay(plan, capital=True)}.{'' if spoiled else f' {colluders}'}", on=DETAIL),
    )


def overlay_section(outcome: ColumnOutcome) -> Section | None:
    """Section on the results of walks on an overlay, with the trust; None for other shuffles."""
    walked = outcome.shuffle_result
    if not isinstance(walked, WalkResult) or not isinstance(walked.plan, OverlayPlan):
        return None
    plan, epsilon0 = walked.plan, outcome.model.local.epsilon0
    withdrawn = any(statement.withdrawn for statement in outcome.release.statements)
    passed = (
        f"on {_overlay(plan)}. In each of {count_of(plan.own.rounds, 'round')} everybody drew one digit of the address "
        "of every report that they held, and passed it on to whom that led to."
    )
    lead = _guarantee(plan, outcome.column.release.delta, conditional=withdrawn)
    return walk_section(
        plan,
        passed,
        lead,
        Text(_colluders(plan), on=PAGE),
        *trust_blocks(plan, epsilon0, onion=plan.onion),
        *((Fold("Who handed in how many", tuple(held_bars(walked)), on=PAGE),) if plan.protocol == "all" else ()),
    )


def _overlay(plan: OverlayPlan, *, capital: bool = False) -> str:
    return (
        f"{'An' if capital else 'an'} overlay of {count(plan.num_users)} people in groups of "
        f"{_in_words(plan.cost.sizes)}, in which nobody has more than {count_of(plan.cost.contacts, 'contact')}"
    )


def _guarantee(plan: OverlayPlan, delta: float, *, conditional: bool = False) -> str:
    """Sentence on epsilon and on the epsilon of a uniform shuffle."""
    epsilon, uniform = in_digits(plan.epsilon, "at most"), in_digits(plan.uniform, "at most")
    would = "would be" if conditional else "is"
    where = "" if plan.churn else "every report is with everybody equally likely, exactly, and "
    return (
        f"After {rounds_walked(plan.churn, plan.own.rounds)} {where}epsilon = {epsilon} {would} guaranteed at delta = "
        f"{delta:g}; a uniform shuffle of as many people would have {uniform}."
    )


def _colluders(plan: OverlayPlan) -> str:
    """Chance that colluders see a report, in words."""
    cost, knows = plan.cost, "whose it is, and not what is in it" if plan.onion else "whose it is"
    share = f"{100 * cost.colluding / plan.num_users:.3g}%"
    return (
        f"If any {share} of the people collude, the first to receive somebody's report is one of them with a chance of "
        f"at most {chance_of(cost.first_hop)}, and knows {knows}; a report is ever in their hands with a chance of "
        f"at most {chance_of(cost.exposure)}."
    )


def _in_words(sizes: Sequence[int]) -> str:
    """Sizes in a sentence: "10, 10 and 12"."""
    *first, last = (f"{size:,}" for size in sizes)
    return f"{', '.join(first)} and {last}" if first else last


def short_sizes(sizes: Sequence[int]) -> str:
    """Sizes in a table: "99 x 100", "10^4", "2^8 x 3"."""
    return " x ".join(f"{size:,}^{many}" if many > 1 else f"{size:,}" for size, many in Counter(sizes).items())


# ---- overlays to choose from -----------------------------------------------------------------------------------------


def designs_document(found: OverlayDesigns) -> Document:
    """Page on overlays: the recommended one with task lines, a table, and the meaning of its columns."""
    chosen = found.chosen
    epsilon = in_digits(found.epsilon, "at most")
    opening = (
        f"overlays   epsilon <= {epsilon}   delta {found.delta:g}   {count(found.num_users)} people, each epsilon0 = "
        f"{found.epsilon0:g}"
    )
    best = (
        f"Best{_limits(found)}: groups of {_in_words(chosen.sizes)}, {count_of(chosen.rounds, 'round')}, "
        f"{count_of(chosen.contacts, 'contact')} and {chosen.messages:.1f} messages each."
    )
    return Document(
        promise=Promise(title="Overlays", headline=told(opening, role=Role.PATH)),
        sections=(
            Section(anchor="best", title="Best", blocks=(*told(best), *told(*found.task_lines, role=Role.PATH))),
            Section(anchor="designs", title="Overlays", blocks=(_designs(found),)),
            Section(anchor="meaning", title="What this means", blocks=told(*_meaning(found))),
        ),
    )


def _limits(found: OverlayDesigns) -> str:
    limits = []
    if found.contacts is not None:
        limits.append(f"at most {count_of(found.contacts, 'contact')}")
    if found.rounds is not None:
        limits.append(f"at most {count_of(found.rounds, 'round')}")
    return f" with {' and '.join(limits)}" if limits else ""


def _designs(found: OverlayDesigns) -> Table:
    """Table with a row per overlay, a mark on the recommended overlay, and a row for the random graph."""
    epsilon = Cell(before="<=", text=in_digits(found.epsilon, "at most"))
    rows: list[tuple[str | Cell, ...]] = [
        (
            short_sizes(each.sizes) + (" (best)" if place == found.best else ""),
            count(each.contacts),
            count(each.rounds),
            f"{each.messages:,.1f}",
            count(math.ceil(each.messages * MESSAGE_BYTES)),
            epsilon,
            chance_of(each.first_hop),
            chance_of(each.exposure),
            count(each.slots),
        )
        for place, each in enumerate(found.designs)
    ]
    if found.random_graph is not None:
        rows.append(_random(found.random_graph))
    return Table(
        f"Overlays of {count(found.num_users)} people; each person's messages, and chances that colluders see a report",
        (
            Column("Groups", "groups", folds=True, width=len("100 x 100")),
            Column("Contacts", "con-\ntacts"),
            Column("Rounds", "rounds"),
            Column("Messages", "mes-\nsages"),
            Column("Bytes", "bytes"),
            Column("Epsilon, at most", "epsilon"),
            Column("First hop, at most", "first\nhop"),
            Column("Ever seen, at most", "ever\nseen"),
            Column("Slots if watched", "slots if\nwatched"),
        ),
        tuple(rows),
        own=frozenset((found.best,)),
        label="Overlays beside each other",
    )


def _random(graph: RandomGraph) -> tuple[str | Cell, ...]:
    """The row of the random graph; unknown entries are empty."""
    name = f"random graph, degree {graph.degree}"
    if graph.rounds is None or graph.slots is None or graph.exposure is None:
        return (name, count(graph.degree), *(NOTHING,) * 4, chance_of(graph.first_hop), *(NOTHING,) * 2)
    epsilon = next(each.epsilon for each in graph.by_rounds if each.rounds == graph.rounds)
    return (
        name,
        count(graph.degree),
        Cell(before="~", text=count(graph.rounds)),
        f"{graph.rounds:,.1f}",
        count(graph.rounds * MESSAGE_BYTES),
        Cell(before="~", text=in_digits(epsilon, "at most")),
        chance_of(graph.first_hop),
        chance_of(graph.exposure),
        count(graph.slots),
    )


def _meaning(found: OverlayDesigns) -> Iterable[str]:
    """Meaning of the columns, warnings, and a description of the random graph."""
    colluding = found.chosen.colluding
    yield (
        f"All overlays shuffle uniformly. Bytes: at {MESSAGE_BYTES} a message. First hop: the chance that whoever is "
        f"first to receive a report is among the {100 * found.colluders:.3g}% who collude "
        f"({count_of(colluding, 'person', 'people')}), and knows whose it is. Ever seen: that any of them holds it."
    )
    yield (
        "Slots if watched: messages that somebody sends, most of them empty, if in each round an envelope of one size "
        "goes to each contact, so that traffic tells nothing. With "
        f'links = "constant" in the task the best has epsilon <= {in_digits(found.epsilon_watched, "at most")} against '
        "somebody who watches all messages; without it only epsilon0."
    )
    yield links_text(found.links)
    yield (
        "Everybody must be online in every round. On an overlay each report has one way to each place: where somebody "
        "misses a round, the cycle must be repeated."
    )
    if (gate := _GATE * found.epsilon) < found.epsilon0:  # tasks refuse a gate that promises nothing
        yield (
            f'In place of links = "constant", gate = {in_digits(gate, "at most")} with rounds = '
            f"{_CYCLES * found.chosen.rounds}, the most, in the task states that epsilon before anybody walks, and "
            "nothing is handed in until those who were online keep it."
        )
    if found.random_graph is not None:
        yield (
            f'The random graph (graph = "random-regular:{found.random_graph.degree}") is there to compare with: no '
            "graph was drawn, and its rounds are about those that a plan of the task finds, which looks at the graph."
        )
