"""Side information of an attacker beside the view, and readers of the reports in people's slots."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from shuffledp.core import validate
from shuffledp.core.caching import compiled
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import View
from shuffledp.core.local_models import FrequencyModel
from shuffledp.core.shuffle_models import LabelMeaning
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.randomness.sources import RandomSource

_MOST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SideInformation:
    """Public and privileged knowledge of the attacker about the people, without any person's randomness or report.

    What is None is not known. Each attack says what it needs.

    Args:
        neighbors: for each person the slots to look at, shape (people, most); from 0 to the number of people less 1,
            and -1 where there are fewer. See `similar_people`.
        placement: for each of these the chance that it holds the person's own report, of the same shape; from 0 to 1,
            and at most 1 in all for each person. See `placement`.
        points: everybody's public place, shape (people,) or (people, columns).
        features: what else is known of everybody, as numbers of categories from 0 on, shape (people, columns).
        blocks: the number of everybody's published group, from 0 on, shape (people,).

    Raises:
        InvalidParameterError: if these are of different people, or are no numbers, or one is out of range.
    """

    neighbors: Integers | None = None
    placement: Floats | None = None
    points: Floats | None = None
    features: Integers | None = None
    blocks: Integers | None = None

    def __repr__(self) -> str:
        known = ", ".join(name for name in self.__slots__ if getattr(self, name) is not None)
        return f"SideInformation({known or 'nothing'}; not shown)"

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in self.__slots__ if getattr(self, name) is not None}
        arrays = {name: _numbers(name, value) for name, value in given.items()}
        if len({len(array) for array in arrays.values()}) > 1:
            raise InvalidParameterError("side information must be of the same people: its parts differ in length.")
        if "neighbors" in arrays:
            _check_slots(arrays["neighbors"])
        if "placement" in arrays:
            _check_placement(arrays["placement"], arrays.get("neighbors"))
        for name, array in arrays.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)


_DIMENSIONS = {"neighbors": (2,), "placement": (2,), "points": (1, 2), "features": (2,), "blocks": (1,)}
_LEAST = {"neighbors": -1, "features": 0, "blocks": 0}
_ROUNDING = 1e-9  # by which chances may add up to more than 1


def _numbers(name: str, value: ArrayLike) -> NDArray[Any]:
    """Checked copy of one part of the side information.

    Integers are to be at least the least one of the part; others are real numbers. The dimensions are checked too.
    """
    validate.unmasked(**{name: value})
    try:
        array = np.array(value)
    except ValueError:
        raise InvalidParameterError(f"{name} must have rows of one length.") from None
    if array.ndim not in _DIMENSIONS[name]:
        raise invalid(f"of {' or '.join(map(str, _DIMENSIONS[name]))} dimensions", **{f"shape_of_{name}": array.shape})
    if name not in _LEAST:
        if array.dtype.kind not in "iuf":
            raise InvalidParameterError(f"{name} must hold numbers; got {name} of type {array.dtype}.")
        return array.astype(np.float64)
    if array.dtype.kind not in "iu" or array.min(initial=0) < _LEAST[name] or array.max(initial=0) > _MOST:
        raise InvalidParameterError(f"{name} must hold numbers of slots or categories, {_LEAST[name]} or more.")
    return array.astype(np.int64)


def _check_slots(neighbors: Integers) -> None:
    """Check that neighbors are numbers of slots, all below the number of people."""
    if neighbors.max(initial=-1) >= len(neighbors):
        raise InvalidParameterError(f"neighbors must hold slots from 0 to {len(neighbors) - 1}, or -1 for none.")


def _check_placement(placement: Floats, neighbors: Integers | None) -> None:
    """Check that each person's placement chances sum to at most 1.

    At most one slot holds the person's own report.
    """
    if neighbors is None or placement.shape != neighbors.shape:
        raise InvalidParameterError("placement must have the shape of neighbors.")
    if not ((placement >= 0) & (placement <= 1)).all():
        raise InvalidParameterError("placement must hold probabilities, from 0 to 1.")
    if np.where(neighbors >= 0, placement, 0.0).sum(axis=1).max(initial=0) > 1 + _ROUNDING:
        raise InvalidParameterError("placement must add up to at most 1 for each person.")


@runtime_checkable
class InferenceAttack(Protocol):
    """Attack that guesses all answers, from the view and the side information alone."""

    def infer(self, view: View, side_information: SideInformation) -> Integers:
        """Guessed answers, one per person, in the order of the side information."""


def needed(side_information: SideInformation, name: str) -> NDArray[Any]:
    """Part ``name`` of the side information, which must not be None."""
    validate.instance_of(SideInformation, side_information=side_information)
    found: NDArray[Any] | None = getattr(side_information, name)
    if found is None:
        raise InvalidParameterError(f"side_information must hold {name} for this attack; got None.")
    return found


def reports_by_slot(view: View, num_slots: int) -> Integers:
    """Report in each slot, as the number of a value.

    Without labels the reports fill the slots in turn.

    The rows of a view without labels are in a fresh uniform order, so that they are laid into the slots as they come.
    """
    validate.instance_of(View, view=view)
    model = view.reports.model
    if not isinstance(model, FrequencyModel) or list(view.reports.columns) != ["value"]:
        raise UnsupportedModelError(f"this attack reads reports that are values; got reports of {model.kind!r}.")
    if model.channel() is None:
        raise UnsupportedModelError(
            f"this attack needs the chance of each report for each answer; that of {model.kind!r} reports of "
            f"{model.domain_size} values is not available."
        )
    if view.labels is not None and view.shuffle.labels is not LabelMeaning.SLOT and not view.shuffle.keeps_places:
        raise UnsupportedModelError(f"this attack reads slots; labels of a {view.shuffle.kind!r} shuffle are no slots.")
    values: Integers = view.reports["value"]
    if values.size != num_slots:
        raise invalid(f"one for each of {num_slots} slots", num_reports=values.size)
    if view.labels is None:
        return values
    placed = np.empty_like(values)
    placed[view.labels] = values
    return placed


def spread(neighbors: Integers, weights: ArrayLike | None = None) -> csr_matrix:
    """Sparse matrix of the slots that each person looks at, shape (people, slots), with entries 1 or weights."""
    people, most = neighbors.shape
    there = neighbors >= 0
    data = there.astype(np.float64) if weights is None else np.where(there, np.asarray(weights), 0.0)
    return csr_matrix(
        (data.ravel(), np.where(there, neighbors, 0).ravel(), np.arange(people + 1) * most), shape=(people, people)
    )


def similar_people(groups: Groups, *, count: int = 25, privileged: ArrayLike | None = None, seed: int = 0) -> Integers:
    """Slots of the most similar members of each person's group, the person included.

    Args:
        groups: who is near whom, as the attacker sees it: `Groups.from_radius` with the radius of the attack.
        count: how many, 1 or more; all, where the group has fewer.
        privileged: one number per person that only the attacker knows; equal ones are the most similar, and then
            those with the least difference. None: which members of the group are taken does not depend on them.
        seed: of the order among equally similar people, 0 or more; it protects nobody.

    Returns:
        Shape (people, count), or as many columns as the largest group has members; -1 where a group has fewer.

    Raises:
        InvalidParameterError: if ``count``, ``seed`` or ``privileged`` is out of range.

    References:
        Meehan et al. 2022, Section 5: 25 people within r* of the person who are most similar in what is privileged.
    """
    validate.instance_of(Groups, groups=groups)
    validate.integer_at_least(1, count=count)
    validate.integer_at_least(0, seed=seed)
    validate.unmasked(privileged=privileged)
    try:
        known = np.zeros(groups.num_users) if privileged is None else np.asarray(privileged, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError("privileged must hold one number per person.") from None
    if known.shape != (groups.num_users,) or not np.isfinite(known).all():
        raise invalid(f"one finite number for each of {groups.num_users} people", shape_of_privileged=known.shape)
    ties = np.random.default_rng(seed).random(groups.num_users)
    most = min(int(count), int(groups.sizes.max(initial=0)))
    found = np.full((groups.num_users, most), -1, dtype=np.int64)
    by_group = np.argsort(groups.own, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(groups.own, minlength=len(groups))))
    place = np.empty(groups.num_users, dtype=np.int64)
    for number, (start, end) in enumerate(pairwise(ends.tolist())):
        if start < end:
            owners, members = by_group[start:end], groups[number]
            members = members[np.lexsort((ties[members], known[members]))]
            place[members] = np.arange(members.size)
            _nearest(members, known[members], place[owners], owners, found)
    return found


@compiled
def _nearest(members: Integers, values: Floats, places: Integers, owners: Integers, found: Integers) -> None:
    """Find each owner's nearest members by value, in a window that grows around the owner's place.

    The window grows towards the nearer next value, alternately on ties.
    """
    for number in range(owners.size):
        first = last = places[number]
        for taken in range(min(found.shape[1], members.size)):
            if taken > 0:
                down = values[places[number]] - values[first - 1] if first > 0 else np.inf
                up = values[last + 1] - values[places[number]] if last + 1 < members.size else np.inf
                if down < up or (down == up and taken % 2 == 1):
                    first -= 1
                else:
                    last += 1
        for place in range(first, last + 1):
            found[owners[number], place - first] = members[place]


@runtime_checkable
class SlotShuffler(Protocol):
    """Shuffler with one report in each slot and a public law, which can be simulated."""

    def draw(self, *, source: RandomSource | None = None) -> Integers:
        """Person whose report lies in each slot."""


def placement(
    shuffler: SlotShuffler, neighbors: Integers, *, num_draws: int = 200, source: RandomSource | None = None
) -> Floats:
    """Probability that each slot in ``neighbors`` holds the report of the row's person, from simulated shuffles.

    The draws are the attacker's own; they are not the secret one.

    Args:
        shuffler: what shuffled these people: `shuffledp.MallowsShuffler`, `shuffledp.NoisySortShuffler`.
        neighbors: as in `SideInformation`.
        num_draws: 1 or more.
        source: of the simulation.

    Returns:
        Of the shape of ``neighbors``; 0 where there is no slot.

    Raises:
        InvalidParameterError: if a number is out of range, or the shuffler is of other people or draws no permutation.
    """
    validate.instance_of(SlotShuffler, shuffler=shuffler)
    validate.integer_at_least(1, num_draws=num_draws)
    neighbors = _numbers("neighbors", neighbors)
    _check_slots(neighbors)
    slots, there = np.where(neighbors >= 0, neighbors, 0), neighbors >= 0
    people = np.arange(len(neighbors))[:, None]
    found = np.zeros(neighbors.shape)
    for _ in range(int(num_draws)):
        drawn = shuffler.draw(source=source)
        if drawn.size != len(people):
            raise invalid(f"those of the shuffler, {drawn.size}", people_of_neighbors=len(people))
        found += drawn[slots] == people
    return np.where(there, found / num_draws, 0.0)
