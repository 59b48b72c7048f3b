"""Digest of groups: SHA-256 of a form that does not depend on the way the groups were made."""

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.table import Integers
from shuffledp.protocols.d_sigma.people.public_points import Runs, members
from shuffledp.randomness.permutations import invert

if TYPE_CHECKING:
    from shuffledp.protocols.d_sigma.people.assignment import Groups

_AT_A_TIME = 2**20  # people, or sites of groups
_BYTES = 8


def digest_of(groups: "Groups") -> str:
    """Digest for `shuffledp.Groups.digest`, computed in parts to save memory."""
    of_site = _classes(groups)
    form = hashlib.sha256(b"shuffledp/1/groups" + groups.num_users.to_bytes(_BYTES, "little"))
    for start in range(0, groups.num_users, _AT_A_TIME):
        form.update(of_site[groups.sites[start : start + _AT_A_TIME]].tobytes())
    form.update(b"".join(sorted({hashlib.sha256(each).digest() for each in _forms(groups, of_site)})))
    return form.hexdigest()


def _classes(groups: "Groups") -> Integers:
    """Class of each site: equal for sites in equal groups, numbered by the first person."""
    marks = _marks(groups.sets, groups.sizes > 1)[: groups.site_sizes.size]
    order = np.lexsort(marks.T)
    new = np.append(True, (marks[order[1:]] != marks[order[:-1]]).any(axis=1))
    alike = np.empty(order.size, dtype=np.int64)
    alike[order] = np.cumsum(new) - 1
    first = np.full(int(new.sum()), groups.num_users, dtype=np.int64)
    np.minimum.at(first, alike, groups.first_people)
    return invert(np.argsort(first))[alike].astype("<i8")


def _marks(sets: Runs, counted: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Mark of each site: two sums modulo 2^64 of the fixed pseudorandom names of its groups."""
    marks = np.zeros((int(sets.runs.max()) + 1, 2), dtype=np.uint64)
    of_run = np.repeat(np.arange(counted.size), np.diff(sets.starts))
    runs = sets.runs[counted[of_run]]
    names = np.frombuffer(hashlib.shake_128(b"shuffledp/1/groups").digest(16 * counted.size), dtype="<u8")
    added = names.reshape(-1, 2)[of_run[counted[of_run]]]
    for lane in range(2):
        np.add.at(marks[:, lane], runs[:, 0], added[:, lane])
        np.subtract.at(marks[:, lane], runs[:, 1], added[:, lane])
    return np.cumsum(marks, axis=0, dtype=np.uint64)


def _forms(groups: "Groups", of_site: Integers) -> Iterator[bytes]:
    """Bytes of the ascending classes of each group of two people or more.

    Many groups are sorted at a time.
    """
    starts, held, first = groups.sets.starts, groups.sites_held, 0
    passed = np.append(0, np.cumsum(held))
    while first < held.size:
        after = max(int(np.searchsorted(passed, passed[first] + _AT_A_TIME, side="right")) - 1, first + 1)
        within = of_site[members(groups.sets.runs[starts[first] : starts[after]])]
        group = np.repeat(np.arange(after - first), held[first:after])
        order = np.lexsort((within, group))
        group, within = group[order], within[order]
        new = np.append(True, (group[1:] != group[:-1]) | (within[1:] != within[:-1]))
        ends = _BYTES * np.append(0, np.cumsum(np.bincount(group[new], minlength=after - first)))
        form, counted = within[new].tobytes(), groups.sizes[first:after] > 1
        for start, stop in np.column_stack([ends[:-1], ends[1:]])[counted].tolist():
            yield form[start:stop]
        first = after
