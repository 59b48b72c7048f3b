"""What `graph inspect` prints."""

import json
import math
from pathlib import Path

import typer

from shuffledp.graphs import GraphDescription, PartDescription
from shuffledp.laws.mixing_rounds import TOLERANCE, MixingRounds

__all__ = ["show_graph"]

_FAR_SMALLER = 100  # times fewer people than the largest part has
_SETTLED = 1e-8  # error of an eigenvalue that needs no mention
_Mixing = list[MixingRounds | None]  # of each part


def show_graph(found: GraphDescription, mixing: _Mixing, path: Path, *, weighted: bool, as_json: bool) -> None:
    """Print what is known of a graph, with advice where walks would not mix.

    Args:
        found: the graph.
        mixing: of each of its parts that are described; starts are numbered as in the whole graph.
        path: of the file.
        weighted: whether it has weights.
        as_json: print one JSON object instead.
    """
    if as_json:
        typer.echo(json.dumps({"graph": str(path), **_facts(found, mixing)}, indent=2))
        return
    typer.echo(f"{path}: {found.num_users:,} people, {_edges(found.num_edges)}, taken in both directions")
    if found.merged_edges or found.dropped_loops:
        repeated, loops = _counted(found.merged_edges, "repeated edge"), _counted(found.dropped_loops, "loop")
        typer.echo(f"  merged {repeated}, dropped {loops}")
    if weighted:
        typer.echo("  weights are not looked at: walks choose neighbors uniformly, and tasks refuse different ones")
    _write("parts", f"{found.num_components:,}")
    _write("neighbors", f"{found.least_degree:,} to {found.largest_degree:,}")
    small = _small(found)
    for number, (part, rounds) in enumerate(zip(found.parts, mixing, strict=True), start=1):
        if part in small:
            continue
        if found.num_components > 1:
            typer.echo(
                f"Part {number}, of person {part.first:,} and others: {part.num_users:,} people, "
                f"{_edges(part.num_edges)}"
            )
        for name, value in _rows(part, rounds):
            _write(name, value)
    if small:
        sizes = sorted({part.num_users for part in small})
        people = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        typer.echo(f"{len(small)} further parts of {people} people each; --json describes them.")
    for advice in _advice(found):
        typer.echo(advice)


def _small(found: GraphDescription) -> tuple[PartDescription, ...]:
    """Parts that are not worth a table each: several that are far smaller than the largest."""
    small = tuple(part for part in found.parts if part.num_users * _FAR_SMALLER <= found.parts[0].num_users)
    return small if len(small) > 1 else ()


def _facts(found: GraphDescription, mixing: _Mixing) -> dict[str, object]:
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


def _write(name: str, value: str) -> None:
    typer.echo(f"  {name:<22}{value}")


def _rows(part: PartDescription, rounds: MixingRounds | None) -> tuple[tuple[str, str], ...]:
    return (
        ("bipartite", "yes" if part.is_bipartite else "no"),
        ("irregularity", f"{part.irregularity:.6f}"),
        ("spectrum", f"{_digits(part.second_eigenvalue)}, {_digits(part.smallest_eigenvalue)} at the ends"),
        ("spectral gap", _gap(part)),
        ("log(n) / gap", _rounds(part.mixing_time)),
        ("the same, half lazy", _rounds(part.lazy_mixing_time)),
        ("near one law", _until(rounds)),
        ("reports that mix last", _last(rounds)),
        ("hold no report", f"{part.expected_empty:,.1f} people expected, after many rounds"),
    )


def _gap(part: PartDescription) -> str:
    """With what is certain of it, where it did not settle."""
    certain = max(0.0, part.spectral_gap - part.spectrum_error)
    settled = part.spectrum_error <= _SETTLED
    return f"{part.spectral_gap:.8f}" + (
        "" if settled else f"; certainly {certain:.6f} or more, which guarantees rest on"
    )


def _edges(number: int) -> str:
    return _counted(number, "edge")


def _counted(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def _digits(eigenvalue: float) -> str:
    return f"{round(eigenvalue, 8) + 0.0:.8f}"  # never -0


def _rounds(number: float) -> str:
    return "never" if math.isinf(number) else f"{number:,.1f} rounds"


def _until(rounds: MixingRounds | None) -> str:
    if rounds is None:
        return "never"
    after = f"{rounds.least:,}" if rounds.least == rounds.most else f"{rounds.least:,} to {rounds.most:,}"
    return f"after {after} rounds: everybody's positions, to {TOLERANCE:g} in total variation"


def _last(rounds: MixingRounds | None) -> str:
    if rounds is None:
        return "none ever do"
    if rounds.late_start is None:
        return "not looked for"
    sure = "" if rounds.worst_start is not None else f", perhaps: not before round {rounds.least:,}"
    return f"those of person {rounds.late_start:,}{sure}"


def _advice(found: GraphDescription) -> tuple[str, ...]:
    shown = len(found.parts) + found.num_isolated
    nobody = "Everybody is alone: there is nothing to walk along."
    parts = "Reports stay in their part."
    unseen = f" {found.num_components - shown:,} more parts are smaller than these."
    alone = "1 person has" if found.num_isolated == 1 else f"{found.num_isolated:,} people have"
    alone += " no neighbor: walks do not shuffle their reports."
    sides = (
        "Without laziness, the number of rounds shows on which side of a bipartite part a report began; laziness = 0.1 "
        "mixes the sides."
    )
    return (
        *((nobody,) if not found.parts else ()),
        *((parts + unseen * (shown < found.num_components),) if len(found.parts) > 1 else ()),
        *((alone,) if found.num_isolated and found.parts else ()),
        *((sides,) if any(part.is_bipartite for part in found.parts) else ()),
    )
