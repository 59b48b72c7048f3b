"""What a graph is like for walks, in words, with advice where walks would not mix."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from shuffledp.core.text import count_of
from shuffledp.documents.document import Block, Document, Pairs, Promise, Role, Section, Text, told
from shuffledp.laws.walk_distributions import MIXING_TOLERANCE, MixingRounds
from shuffledp.people.graphs import GraphDescription, PartDescription

_FAR_SMALLER = 100  # times fewer people than the largest part has
_SETTLED = 1e-8  # error of an eigenvalue that needs no mention

MixingOfParts = Sequence[MixingRounds | None]


def graph_document(found: GraphDescription, mixing: MixingOfParts, name: str, *, weighted: bool) -> Document:
    """The graph of a file, those of its parts that are worth a table, with their mixing, and advice."""
    edges = count_of(found.num_edges, "edge")
    opening = f"{name}: {found.num_users:,} people, {edges}, taken in both directions"
    repeated, loops = count_of(found.merged_edges, "repeated edge"), count_of(found.dropped_loops, "loop")
    merged = f"  merged {repeated}, dropped {loops}" if found.merged_edges or found.dropped_loops else ""
    weights = "  weights are not looked at: walks choose neighbors uniformly, and tasks refuse different ones"
    about = Pairs(
        (("parts", f"{found.num_components:,}"), ("neighbors", f"{found.least_degree:,} to {found.largest_degree:,}"))
    )
    small = [part for part in found.parts if part.num_users * _FAR_SMALLER <= found.parts[0].num_users]
    small = small if len(small) > 1 else []  # several are not worth a table each
    parts: list[Block] = []
    for number, (part, rounds) in enumerate(zip(found.parts, mixing, strict=True), start=1):
        if part not in small:
            parts += _part(found, number, part, rounds)
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
    """The graph as one JSON object."""
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


def _part(found: GraphDescription, number: int, part: PartDescription, rounds: MixingRounds | None) -> Iterable[Block]:
    """One part: whom it holds, its spectrum, and when walks in it have mixed."""
    if found.num_components > 1:
        edges = count_of(part.num_edges, "edge")
        text = f"Part {number}, of person {part.first:,} and others: {part.num_users:,} people, {edges}"
        yield Text(text, Role.PATH)
    each = (part.mixing_time, part.lazy_mixing_time)
    times = ["never" if math.isinf(time) else f"{time:,.1f} rounds" for time in each]
    certain = max(0.0, part.spectral_gap - part.spectrum_error)
    unsettled = f"; certainly {certain:.6f} or more, which guarantees rest on" if part.spectrum_error > _SETTLED else ""
    ends = f"{_digits(part.second_eigenvalue)}, {_digits(part.smallest_eigenvalue)} at the ends"
    yield Pairs(
        (
            ("bipartite", "yes" if part.is_bipartite else "no"),
            ("irregularity", f"{part.irregularity:.6f}"),
            ("spectrum", ends),
            ("spectral gap", f"{part.spectral_gap:.8f}{unsettled}"),
            ("log(n) / gap", times[0]),
            ("log(n)/gap, half lazy", times[1]),
            ("near one law", _until(rounds)),
            ("reports that mix last", _last(rounds)),
            ("hold no report", f"{part.expected_empty:,.1f} people expected, after many rounds"),
        )
    )


def _digits(eigenvalue: float) -> str:
    return f"{round(eigenvalue, 8) + 0.0:.8f}"  # never -0


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
    """What walks on this graph would not do."""
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
