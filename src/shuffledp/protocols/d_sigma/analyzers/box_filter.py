"""Box filter: law of answers in each person's group, estimated from the reports in the group's slots."""

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core import validate
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.flow import View
from shuffledp.core.local_models import FrequencyModel
from shuffledp.core.table import Floats
from shuffledp.core.validate import invalid
from shuffledp.protocols.d_sigma.people.assignment import Groups


def sums_in_groups(values: ArrayLike, groups: Groups) -> Floats:
    """Sums of ``values`` over the members of each person's own group, shape (people, columns).

    Args:
        values: a row of numbers for each person, shape (people, columns).
        groups: of the same people; the work grows with runs of sites, not with memberships.

    Returns:
        Shape (people, columns).

    Example:
        >>> sums_in_groups([[1.0], [2.0], [4.0]], Groups.from_radius([0, 1, 2], 1)).ravel().tolist()
        [3.0, 7.0, 6.0]
    """
    validate.instance_of(Groups, groups=groups)
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != groups.num_users:
        raise invalid(f"one row for each of {groups.num_users} people", shape_of_values=rows.shape)
    count = groups.site_sizes.size
    at_sites = np.column_stack([np.bincount(groups.sites, column, minlength=count) for column in rows.T])
    passed = np.vstack([np.zeros(rows.shape[1]), np.cumsum(at_sites, axis=0)])
    in_runs = passed[groups.sets.runs[:, 1]] - passed[groups.sets.runs[:, 0]]
    of_groups: Floats = np.add.reduceat(in_runs, groups.sets.starts[:-1], axis=0)
    return of_groups[groups.own]


class BoxFilter:
    """Estimator of laws by place: average of the debiased reports in the slots of each person's group.

    Beside `BoostedRegions` it has nothing to learn and no settings but the groups; rows may have numbers below 0 or
    above 1, since it is unbiased for what lies in the group's slots.

    Args:
        groups: over whose slots is averaged, such as everybody within a radius.
    """

    def __init__(self, groups: Groups) -> None:
        validate.instance_of(Groups, groups=groups)
        self._groups = groups
        self._sizes = groups.sizes[groups.own].astype(np.float64)[:, None]

    def laws(self, view: View) -> Floats:
        """Estimated law of answers around each slot, shape (slots, values); rows sum to 1.

        Reports without labels teach nothing about places: every place gets the law of all.

        Raises:
            InvalidParameterError: if there is not one report per slot.
            UnsupportedModelError: if reports stand for no values, or labels are not slots.
        """
        validate.instance_of(View, view=view)
        model, people = view.reports.model, self._groups.num_users
        if not isinstance(model, FrequencyModel):
            raise UnsupportedModelError(f"laws by place need reports that stand for values; got {model.kind!r}.")
        if view.labels is not None and not view.shuffle.keeps_places:
            raise UnsupportedModelError(
                f"laws by place need labels that are slots; got a {view.shuffle.kind!r} shuffle."
            )
        if len(view) != people:
            raise invalid(f"one for each of {people} slots", num_reports=len(view))
        said = np.column_stack([model.supports(view.reports.columns, value) for value in range(model.domain_size)])
        if view.labels is None:
            seen = np.repeat(said.mean(axis=0)[None], people, axis=0)
        else:
            placed = np.empty(said.shape)
            placed[view.labels] = said
            seen = sums_in_groups(placed, self._groups) / self._sizes
        p, q = getattr(model, "p"), getattr(model, "q")  # noqa: B009
        laws = (seen - q) / (p - q)
        found: Floats = laws + (1 - laws.sum(axis=1, keepdims=True)) / model.domain_size
        return found
