"""Laws of permutations and of positions: samplers, explicit laws of few items, moments, what they preserve.

``w`` is a permutation of ranks near the identity: place k holds rank w[k]. Around a reference order it becomes the
shuffle sigma*, ``sigma_star[order[k]] = order[w[k]]`` and ``released[j] = reports[sigma_star[j]]``.
"""

from shuffledp.laws.explicit import (
    Law,
    d_sigma_loss,
    d_sigma_ratio,
    law_around,
    mallows_law,
    noisy_sort_law,
    shuffle_around,
)
from shuffledp.laws.gaussian import gaussian_alpha, gaussian_delta, gaussian_mu
from shuffledp.laws.imperfection import composed_law, imperfection
from shuffledp.laws.loads import expected_held, expected_messages
from shuffledp.laws.mallows import DISTANCES, MallowsStream, sample_mallows, sample_mallows_blocks, stream_buffer
from shuffledp.laws.moments import (
    kendall_corner_law,
    kendall_inversions,
    kendall_kept_in_interval,
    kendall_mean_displacement,
    kendall_position_law,
    log_partition,
    sampled_displacement,
    stay_probability,
)
from shuffledp.laws.noisy_sort import NOISES, sample_noisy_sort
from shuffledp.laws.position_bounds import PositionBounds, position_bounds
from shuffledp.laws.preservation import (
    cayley_lost_law,
    hamming_lost_law,
    most_lost,
    preservation_delta,
    preserved_shares,
)
from shuffledp.laws.spacing import (
    RankGroups,
    adaptive_gaps,
    positions_of_gaps,
    refined_gaps,
    sort_spreads,
    uniform_gaps,
)
from shuffledp.laws.walking import LOST, Walks, sample_walks
from shuffledp.laws.walks import (
    distance_from_stationarity,
    first_round_within,
    position_distribution,
    position_distributions,
    unseen_probability,
)

__all__ = [
    "DISTANCES",
    "LOST",
    "NOISES",
    "Law",
    "MallowsStream",
    "PositionBounds",
    "RankGroups",
    "Walks",
    "adaptive_gaps",
    "cayley_lost_law",
    "composed_law",
    "d_sigma_loss",
    "d_sigma_ratio",
    "distance_from_stationarity",
    "expected_held",
    "expected_messages",
    "first_round_within",
    "gaussian_alpha",
    "gaussian_delta",
    "gaussian_mu",
    "hamming_lost_law",
    "imperfection",
    "kendall_corner_law",
    "kendall_inversions",
    "kendall_kept_in_interval",
    "kendall_mean_displacement",
    "kendall_position_law",
    "law_around",
    "log_partition",
    "mallows_law",
    "most_lost",
    "noisy_sort_law",
    "position_bounds",
    "position_distribution",
    "position_distributions",
    "positions_of_gaps",
    "preservation_delta",
    "preserved_shares",
    "refined_gaps",
    "sample_mallows",
    "sample_mallows_blocks",
    "sample_noisy_sort",
    "sample_walks",
    "sampled_displacement",
    "shuffle_around",
    "sort_spreads",
    "stay_probability",
    "stream_buffer",
    "uniform_gaps",
    "unseen_probability",
]
