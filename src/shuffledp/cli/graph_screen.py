"""What `graph inspect` prints."""

import json
import math
from pathlib import Path

import typer

from shuffledp.graphs import GraphDescription

__all__ = ["show_graph"]

_SETTLED = 1e-8  # error of an eigenvalue that needs no mention


def show_graph(found: GraphDescription, path: Path, *, as_json: bool) -> None:
    """Print what is known of a graph, with advice where walks would not mix."""
    if as_json:
        typer.echo(json.dumps({"graph": str(path), **found.to_dict()}, indent=2))
        return
    typer.echo(f"{path}: {found.num_users:,} people, {found.num_edges:,} edges, taken in both directions")
    if found.merged_edges or found.dropped_loops:
        typer.echo(f"  merged {found.merged_edges:,} repeated edges, dropped {found.dropped_loops:,} loops")
    for name, value in _rows(found):
        typer.echo(f"  {name:<22}{value}")
    for advice in _advice(found):
        typer.echo(advice)


def _rows(found: GraphDescription) -> tuple[tuple[str, str], ...]:
    return (
        ("parts", f"{found.num_components:,}, the largest of {found.largest_component:,} people"),
        ("neighbors", f"{found.least_degree:,} to {found.largest_degree:,}"),
        ("irregularity", f"{found.irregularity:.6f}"),
        ("spectrum", f"{found.second_eigenvalue:.8f}, {found.smallest_eigenvalue:.8f} at the ends"),
        ("spectral gap", _gap(found)),
        ("log(n) / gap", _rounds(found.mixing_time)),
        ("the same, half lazy", _rounds(found.lazy_mixing_time)),
        ("hold no report", f"{found.expected_empty:,.1f} people expected, after many rounds"),
    )


def _gap(found: GraphDescription) -> str:
    """With what is certain of it, where it did not settle."""
    certain = max(0.0, found.spectral_gap - found.spectrum_error)
    settled = found.spectrum_error <= _SETTLED
    return f"{found.spectral_gap:.8f}" + (
        "" if settled else f"; certainly {certain:.6f} or more, which guarantees rest on"
    )


def _rounds(number: float) -> str:
    return "never" if math.isinf(number) else f"{number:,.1f} rounds"


def _advice(found: GraphDescription) -> tuple[str, ...]:
    parts = "Reports stay in their part: what is said is about the largest one."
    alone = f"{found.num_isolated:,} people have no neighbor: walks do not shuffle their reports."
    sides = "The graph is bipartite: without laziness, the number of rounds shows on which side a report began."
    return (
        *((parts,) if found.num_components > 1 else ()),
        *((alone,) if found.num_isolated else ()),
        *((sides,) if found.is_bipartite else ()),
    )
