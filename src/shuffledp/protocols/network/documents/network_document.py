"""Walks along a graph in words: guarantee by rounds, cost, mixing and trust; and descriptions of graphs."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.blocks import (
    DETAIL,
    PAGE,
    Block,
    Cell,
    Column,
    Fold,
    Medium,
    Pairs,
    Picture,
    Role,
    Table,
    Text,
    told,
)
from shuffledp.documents.document import Document, Promise, Section
from shuffledp.documents.words import NOTHING, count
from shuffledp.people.graphs import GraphDescription, PartDescription
from shuffledp.protocols.network.documents.walk_blocks import (
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
from shuffledp.protocols.network.laws.walk_distributions import MIXING_TOLERANCE, MixingRounds
from shuffledp.protocols.network.planning.network_plan import NetworkPlan
from shuffledp.protocols.network.survey.network_section import WalkResult
from shuffledp.survey import ColumnOutcome

_GAP = {"all": ("People who hold none, expected", "hold\nnone")}
_DUMMIES = ("Dummies, expected", "dummies")
_FAR_SMALLER = 100  # a part is small if the largest one has this factor more people
_SETTLED = 1e-8  # error of an eigenvalue that needs no mention

MixingOfParts = Sequence[MixingRounds | None]


def network_plan_blocks(plan: NetworkPlan, delta: float, bits: int | None, *, table: bool) -> tuple[Block, ...]:
    """Text on the guarantee, cost and mixing of a plan.

    With ``table`` also tables by round and by part of the graph.

    ``bits`` are those of one report; None where that differs from person to person.
    """
    sentences = network_sentences(plan, delta, bits)
    if not table:
        return sentences
    parts = (_parts(plan),) if len(plan.parts) > 1 else ()
    return (*sentences, _rounds(plan), *parts)


def network_sentences(plan: NetworkPlan, delta: float, bits: int | None) -> tuple[Text, ...]:
    """Sentences on planned walks."""
    better, passed = better_sentence(plan), passed_sentence(plan, bits, most=f"{plan.own.messages_most:,.0f}")
    risks = (  # numbers in case trust fails, never a promise
        f"If {100 * each.share:.3g}% of the people collude, a report is ever in their hands with a chance of at most "
        f"{chance_of(each.exposure)} on average; whoever has a colluding neighbor has only the own device's guarantee."
        for each in plan.risks[:1]
    )
    graph = f"{_graph(plan, capital=True)}, taken in both directions; irregularity {plan.irregularity:.4g}."
    return (
        *told(_guarantee(plan, delta), churn_sentence(plan.churn, plan.rounds), better, passed, links_text(plan.links)),
        *told(graph, *_mixing_sentences(plan), *risks, on=DETAIL),
    )


def network_section(outcome: ColumnOutcome) -> Section | None:
    """Section on the results of walks along graphs, with picture, tables and trust; None for other shuffles."""
    from shuffledp.protocols.network.documents.walk_charts import rounds_chart

    walked = outcome.shuffle_result
    if not isinstance(walked, WalkResult) or not isinstance(walked.plan, NetworkPlan):
        return None
    plan, epsilon0 = walked.plan, outcome.model.local.epsilon0
    withdrawn = any(statement.withdrawn for statement in outcome.release.statements)
    passed = (
        f"along {_graph(plan)}. In each of {count_of(plan.rounds, 'round')} everybody passed every report that they "
        "held on to a neighbor chosen by lot."
    )
    lead = _guarantee(plan, outcome.column.release.delta, conditional=withdrawn)
    held = held_bars(walked) if plan.protocol == "all" else ()
    drawn = [plan] if len(plan.by_rounds) > 1 else []
    tables = (_rounds(plan, "this task", on=PAGE), *_mixing_table(plan), *held)
    return walk_section(
        plan,
        passed,
        lead,
        *(Picture(rounds_chart(each, epsilon0=epsilon0, withdrawn=withdrawn), on=PAGE) for each in drawn),
        *trust_blocks(plan, epsilon0),
        *((_parts(plan, on=PAGE),) if len(plan.parts) > 1 else ()),
        Fold("All numbers of rounds, mixing times, and who handed in how many", tables, on=PAGE),
    )


def _graph(plan: NetworkPlan, *, capital: bool = False) -> str:
    """Description of the graph in words, with the edges that were merged or left out."""
    graphs = f"{count(plan.num_graphs)} graphs in turn, the first of them with"
    start = graphs if plan.num_graphs > 1 else f"{'A' if capital else 'a'} graph of"
    merged = count_of(plan.merged_edges, "repeated edge was merged", "repeated edges were merged")
    dropped = count_of(plan.dropped_loops, "loop was left out", "loops were left out")
    cleaned = f" ({merged} and {dropped})" if plan.merged_edges or plan.dropped_loops else ""
    return f"{start} {count(plan.num_users)} people and {count(plan.num_edges)} edges{cleaned}"


def _guarantee(plan: NetworkPlan, delta: float, *, conditional: bool = False) -> str:
    """Sentence on epsilon, on a uniform shuffle's epsilon, and on the fewest rounds that nearly reach it."""
    epsilon, uniform = in_digits(plan.epsilon, "at most"), in_digits(plan.uniform, "at most")
    would = "would be" if conditional else "is"
    return (
        f"After {rounds_walked(plan.churn, plan.rounds)} epsilon = {epsilon} {would} guaranteed at delta = {delta:g}; "
        f"a uniform shuffle of as many people would have {uniform}. {'' if plan.churn else _fewest(plan)}"
    ).rstrip()


def _fewest(plan: NetworkPlan) -> str:
    that = "that" if plan.num_parts == 1 else "a uniform shuffle of each part"
    if plan.why_not_searched:
        return f"The fewest rounds that come within 5% of {that} are not known: {plan.why_not_searched}."
    if plan.fewest_rounds is None:
        return f"No number of rounds was found that comes within 5% of {that}."
    return f"The fewest rounds that come within 5% of {that}: {plan.fewest_rounds:,}."


def _mixing(plan: NetworkPlan) -> tuple[tuple[str, str], ...]:
    """Rows of the two mixing times, each with its name."""
    if plan.mixing_time is None:
        return ()
    slowest = ", of the slowest part" if plan.num_parts > 1 else ""
    after = "never"
    if plan.distance_rounds is not None:
        least, most = plan.distance_rounds
        after = count(least) if least == most else f"{count(least)} to {count(most)}"
    return (
        (f"by the gap, log(people) / gap{slowest}", _mixing_time(plan.mixing_time)),
        (f"by distance, until all laws are within 0.01 of one in total variation{slowest}", after),
    )


def _mixing_sentences(plan: NetworkPlan) -> Iterable[str]:
    if plan.mixing_time is None and plan.num_parts > 1 and not plan.parts:
        return ["Mixing times are not worked out for more than 64 parts."]
    return [f"Mixing time {name}: {after}{'' if after == 'never' else ' rounds'}." for name, after in _mixing(plan)]


def _mixing_table(plan: NetworkPlan) -> Iterable[Table]:
    rows = tuple((f"{name[0].upper()}{name[1:]}", after) for name, after in _mixing(plan))
    heads = (Column("Which"), Column("Rounds"))
    caption = "Two mixing times, in rounds; neither is a guarantee"
    return [Table(caption, heads, rows, look="numeric chances", label="Mixing times", on=PAGE)] if rows else []


def _mixing_time(rounds: float | None) -> str:
    return NOTHING if rounds is None else "never" if math.isinf(rounds) else f"{rounds:,.1f}"


def _rounds(plan: NetworkPlan, own: str = "yours", *, on: Medium = Medium.BOTH) -> Table:
    """Table of the guarantee and cost by number of rounds."""
    gap, brief = _GAP.get(plan.protocol, _DUMMIES)
    rows = []
    for row in plan.by_rounds:
        told_of = ((own, plan.rounds), ("within 5%", plan.fewest_rounds))
        marks = ", ".join(mark for mark, rounds in told_of if rounds == row.rounds)
        rows.append(
            (
                f"{row.rounds:,} ({marks})" if marks else f"{row.rounds:,}",
                Cell(before="<=", text=in_digits(row.epsilon, "at most")),
                f"{row.messages:,.1f}",
                f"{row.messages_most:,.1f}",
                f"{row.lacking:,.1f}",
                row.theorem,
            )
        )
    return Table(
        "What each number of rounds gives, and costs: reports that one person passes on",
        (
            Column("Rounds", "rounds", folds=True, width=len("(within")),
            Column("Epsilon, at most", "epsilon"),
            Column("Messages on average", "messages\neach"),
            Column("The busiest", "busiest"),
            Column(gap, brief),
            Column("Theorem", "theorem", left=True, folds=True),
        ),
        tuple(rows),
        own=frozenset(place for place, row in enumerate(plan.by_rounds) if row.rounds == plan.rounds),
        label="Guarantee and cost against rounds",
        on=on,
    )


def _parts(plan: NetworkPlan, *, on: Medium = Medium.BOTH) -> Table:
    heads = (
        Column("People", "people"),
        Column("Edges", "edges"),
        Column("log(people) / gap", "log(n)\n/ gap"),
        Column("Epsilon, at most", "epsilon"),
        Column("Uniform shuffle", "uniform"),
        Column("Fewest rounds within 5%", "rounds\nto 5%"),
    )
    rows = tuple(
        (
            f"{part.people:,}",
            f"{part.edges:,}",
            _mixing_time(part.mixing_time),
            Cell(before="<=", text=in_digits(part.epsilon, "at most")),
            in_digits(part.uniform, "at most"),
            NOTHING if part.fewest_rounds is None else f"{part.fewest_rounds:,}",
        )
        for part in plan.parts
    )
    caption = "Parts of the graph, which no report leaves; the promise is that of the weakest"
    return Table(caption, heads, rows, label="Parts of the graph", titled=True, on=on)


def graph_document(found: GraphDescription, mixing: MixingOfParts, name: str, *, weighted: bool) -> Document:
    """Page on a graph in a file, with advice, and a table of mixing for each large part."""
    edges = count_of(found.num_edges, "edge")
    opening = f"{name}: {found.num_users:,} people, {edges}, taken in both directions"
    repeated, loops = count_of(found.merged_edges, "repeated edge"), count_of(found.dropped_loops, "loop")
    merged = f"  merged {repeated}, dropped {loops}" if found.merged_edges or found.dropped_loops else ""
    weights = "  weights are not looked at: walks choose neighbors uniformly, and tasks refuse different ones"
    about = Pairs(
        (("parts", f"{found.num_components:,}"), ("neighbors", f"{found.least_degree:,} to {found.largest_degree:,}"))
    )
    small = [part for part in found.parts if part.num_users * _FAR_SMALLER <= found.parts[0].num_users]
    small = small if len(small) > 1 else []  # several small parts share one line
    parts: list[Block] = []
    for place, (part, rounds) in enumerate(zip(found.parts, mixing, strict=True), start=1):
        if part not in small:
            parts += _part(found, place, part, rounds)
    if small:
        sizes = sorted({part.num_users for part in small})
        people = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        parts += told(f"{len(small)} further parts of {people} people each; --json describes them.", role=Role.PATH)
    headline = (Text(opening, Role.PATH), *told(merged, weights if weighted else "", role=Role.PATH), about)
    return Document(
        promise=Promise(title=name, headline=headline),
        sections=(
            Section(anchor="parts", title="Parts", blocks=tuple(parts)),
            Section(anchor="advice", title="Advice", blocks=told(*_advice(found), role=Role.PATH)),
        ),
    )


def graph_as_dict(found: GraphDescription, mixing: MixingOfParts) -> dict[str, Any]:
    """Description of the graph as one JSON object."""
    parts = [
        {
            **part.to_dict(),
            "mixing_rounds": None if rounds is None else [rounds.least, rounds.most],
            "worst_start": None if rounds is None else rounds.worst_start,
            "late_start": None if rounds is None else rounds.late_start,
        }
        for part, rounds in zip(found.parts, mixing, strict=True)
    ]
    return {**found.to_dict(), "parts": parts}


def _part(found: GraphDescription, place: int, part: PartDescription, rounds: MixingRounds | None) -> Iterable[Block]:
    """Table of one part of a graph: people, spectrum, and rounds until walks mix."""
    if found.num_components > 1:
        edges = count_of(part.num_edges, "edge")
        text = f"Part {place}, of person {part.first:,} and others: {part.num_users:,} people, {edges}"
        yield Text(text, Role.PATH)
    both = (part.mixing_time, part.lazy_mixing_time)
    times = ["never" if math.isinf(time) else f"{time:,.1f} rounds" for time in both]
    certain = max(0.0, part.spectral_gap - part.spectrum_error)
    unsettled = f"; certainly {certain:.6f} or more, which guarantees rest on" if part.spectrum_error > _SETTLED else ""
    ends = (round(each, 8) + 0.0 for each in (part.second_eigenvalue, part.smallest_eigenvalue))  # never -0
    yield Pairs(
        (
            ("bipartite", "yes" if part.is_bipartite else "no"),
            ("irregularity", f"{part.irregularity:.6f}"),
            ("spectrum", f"{', '.join(f'{end:.8f}' for end in ends)} at the ends"),
            ("spectral gap", f"{part.spectral_gap:.8f}{unsettled}"),
            ("log(n) / gap", times[0]),
            ("log(n)/gap, half lazy", times[1]),
            ("near one law", _until(rounds)),
            ("reports that mix last", _last(rounds)),
            ("hold no report", f"{part.expected_empty:,.1f} people expected, after many rounds"),
        )
    )


def _until(rounds: MixingRounds | None) -> str:
    if rounds is None:
        return "never"
    after = f"{rounds.least:,}" if rounds.least == rounds.most else f"{rounds.least:,} to {rounds.most:,}"
    return f"after {after} rounds: everybody's positions, to {MIXING_TOLERANCE:g} in total variation"


def _last(rounds: MixingRounds | None) -> str:
    if rounds is None:
        return "none ever do"
    if rounds.late_start is None:
        return "not looked for"
    sure = "" if rounds.worst_start is not None else f", perhaps: not before round {rounds.least:,}"
    return f"those of person {rounds.late_start:,}{sure}"


def _advice(found: GraphDescription) -> Iterable[str]:
    """Warnings about walks on this graph."""
    if not found.parts:
        yield "Everybody is alone: there is nothing to walk along."
    if len(found.parts) > 1:
        unseen = found.num_components - len(found.parts) - found.num_isolated
        yield f"Reports stay in their part.{f' {unseen:,} more parts are smaller than these.' if unseen > 0 else ''}"
    if found.num_isolated and found.parts:
        alone = "1 person has" if found.num_isolated == 1 else f"{found.num_isolated:,} people have"
        yield f"{alone} no neighbor: walks do not shuffle their reports."
    if any(part.is_bipartite for part in found.parts):
        yield (
            "Without laziness, the number of rounds shows on which side of a bipartite part a report began; laziness = "
            "0.1 mixes the sides."
        )
