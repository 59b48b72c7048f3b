"""Laws of permutations: samplers, explicit laws of a few items, and moments.

In reading order: `mallows_sampling` (over `exact_draws`), `noisy_sort_sampling`, `gaussian_noise`, `explicit`,
`moments`. Families of protocols add laws of their own, such as those of walks, from their folders ``laws``.

``w`` is a permutation of ranks near the identity: place k holds rank w[k]. Around a reference order it becomes the
shuffle sigma*, ``sigma_star[order[k]] = order[w[k]]`` and ``released[j] = reports[sigma_star[j]]``.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

from shuffledp.protocols import face

__getattr__, __dir__, __all__ = face(__name__, __file__)
