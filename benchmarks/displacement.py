"""How far reports move at the same loss: the paper's mechanism beside ours, on 15 clusters of a line."""

import numpy as np
from numpy.typing import NDArray

from shuffledp.protocols.d_sigma import mean_displacement
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.orders import reference_order
from shuffledp.protocols.d_sigma.people.sensitivity import order_sensitivity
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler

PEOPLE, CLUSTERS, SPREAD, ALPHA = 10_000, 15, 0.02, 4.0
RADII, SEEDS = (0.0003, 0.001, 0.003), (0, 1, 2)


def clustered(rng: np.random.Generator) -> NDArray[np.float64]:
    """People around centers that are uniform on a line of length 1, with a normal law of the same width each."""
    centers = rng.random(CLUSTERS)
    return centers[rng.integers(CLUSTERS, size=PEOPLE)] + SPREAD * rng.standard_normal(PEOPLE)


def contestants(groups: Groups) -> dict[str, SlotShuffler]:
    """All of one pure loss. The paper's: breadth first, w (w + 1) / 2 of its width w, one concentration for all."""
    paper, ours = reference_order(groups, method="bfs"), reference_order(groups)
    bound = order_sensitivity(groups, paper, distance="kendall-width")
    return {
        "paper": MallowsShuffler(groups=groups, concentration=ALPHA / bound, order=paper, per_block=False),
        "its order, exact sensitivity": MallowsShuffler(groups=groups, alpha=ALPHA, order=paper, per_block=False),
        "our order, exact": MallowsShuffler(groups=groups, alpha=ALPHA, order=ours, per_block=False),
        "and by blocks": MallowsShuffler(groups=groups, alpha=ALPHA, order=ours),
        "Laplace sort, adaptive": NoisySortShuffler(groups=groups, alpha=ALPHA, order=ours),
        "and refined": NoisySortShuffler(groups=groups, alpha=ALPHA, order=ours, spacing="refined"),
    }


def main() -> None:
    """Mean ranks that a report moves, and by how much less than in the paper's mechanism the best of ours does."""
    header = ""
    for radius in RADII:
        for seed in SEEDS:
            groups = Groups.from_radius(clustered(np.random.default_rng(seed)), radius)
            found = {name: mean_displacement(each) for name, each in contestants(groups).items()}
            if not header:
                header = f"| radius, seed | largest group | {' | '.join(found)} | paper / best |"
                print(header, "|---" * (len(found) + 3) + "|", sep="\n")
            moved = " | ".join(f"{value:,.0f}" for value in found.values())
            ratio = found["paper"] / min(found.values())
            print(f"| {radius:g}, {seed} | {groups.sizes.max()} | {moved} | {ratio:.1f} |")
    print(f"a uniform shuffle: {(PEOPLE**2 - 1) / (3 * PEOPLE):,.0f}")


if __name__ == "__main__":
    main()
