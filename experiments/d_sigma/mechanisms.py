"""The shuffles that every figure compares: none, the paper's, ours and a uniform one."""

import functools
from typing import Any

import numpy as np

import shuffledp as sdp
from experiments.showing import COLORS
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.orders import reference_order
from shuffledp.protocols.d_sigma.people.sensitivity import order_width

DELTA = 1e-6  # of the Gaussian sort; the guarantees of the others are pure
MECHANISMS = {
    "none": "no shuffle",
    "paper": "paper: one concentration, width, BFS",
    "mallows": "ours: Mallows, by block",
    "noisy sort": "ours: Laplace sort",
    "gaussian sort": f"ours: Gaussian sort (delta {DELTA:.0e})",
    "uniform": "uniform shuffle",
}
STYLES: dict[str, dict[str, Any]] = {
    name: {"fmt": fmt, "color": color, "label": MECHANISMS[name]}
    for name, fmt, color in zip(
        MECHANISMS, ("--", "-s", "-o", "-D", "-^", ":"), [COLORS[i] for i in (5, 1, 0, 2, 3, 4)], strict=True
    )
}


def shuffler_of(name: str, groups: Groups | None, alpha: float, coordinates: Any = None) -> Any:
    """A shuffler by name, for groups and alpha; without groups only "none" and "uniform".

    The paper's mechanism takes the width w of the breadth-first order, and one concentration alpha / (w (w + 1) / 2)
    for everybody.
    """
    if name == "none":
        return sdp.IdentityShuffler()
    if name == "uniform":
        return sdp.UniformShuffler()
    if groups is None:
        raise ValueError(f"{name} needs groups")
    if name == "paper":
        order = _order(groups, "bfs")
        width = order_width(groups, order)
        if width == 0:
            return sdp.IdentityShuffler()
        return sdp.MallowsShuffler(
            groups=groups, concentration=alpha / (width * (width + 1) / 2), order=order, per_block=False
        )
    order = _order(groups, "auto", None if coordinates is None else np.asarray(coordinates, dtype=float).tobytes())
    if name == "mallows":
        return sdp.MallowsShuffler(groups=groups, alpha=alpha, order=order)
    noise: dict[str, Any] = {"noise": "gaussian", "delta": DELTA} if name == "gaussian sort" else {}
    return sdp.NoisySortShuffler(groups=groups, alpha=alpha, order=order, spacing="refined", **noise)


@functools.lru_cache(maxsize=16)
def _order(groups: Groups, method: str, coordinates: bytes | None = None) -> Any:
    """A reference order, which serves every alpha and both of our mechanisms."""
    places = None if coordinates is None else np.frombuffer(coordinates).reshape(groups.num_users, -1)
    return reference_order(groups, coordinates=places, method=method)
