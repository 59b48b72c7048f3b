"""Laws of permutations and of positions: samplers, explicit laws of a few items, moments, and bounds.

Permutations: `mallows_sampling` (over `exact_draws`), `noisy_sort_sampling` with `spacing`; then `explicit`, `moments`
and `preservation_laws`. Walks: `walk_sampling` (over `link_slots`), `walk_distributions`, `walk_loads` (over
`overlay_loads`), `walk_sweeps`, `walk_likeness`, `usual_walks`, `walk_positions`. With people offline:
`churn_schedules`, `churned_rounds`, `churn_likeness`, `walk_gates`.

``w`` is a permutation of ranks near the identity: place k holds rank w[k]. Around a reference order it becomes the
shuffle sigma*, ``sigma_star[order[k]] = order[w[k]]`` and ``released[j] = reports[sigma_star[j]]``.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

from shuffledp.protocols import face

__getattr__, __dir__, __all__ = face(__name__, __file__)
