"""Reference orders of people before the shuffle, in which groups lie close together."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core.caching import compiled
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import instance_of, one_of
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.layout import improved
from shuffledp.protocols.d_sigma.people.public_points import members
from shuffledp.protocols.d_sigma.people.sensitivity import order_sensitivity
from shuffledp.randomness.permutations import invert

METHODS = ("auto", "bfs", "rcm", "fiedler", "coordinate", "local-search")

_AT_A_TIME = 1 << 22  # people
_GROUPS_AT_A_TIME = 1 << 12
_MOST_LINKS = 30_000_000
_MOST_SHARED = 300_000_000
_FIEDLER_SITES = 1000  # up to here the portfolio tries it: some seconds at most
_DENSE_SITES = 200


def reference_order(groups: Groups, *, coordinates: ArrayLike | None = None, method: str = "auto") -> Integers:
    """Order of the people in which groups lie close together, for a low sensitivity.

    To find the best order is NP-hard [MRCJ22, Theorem A.3]. No method draws at random: equal groups give equal orders.

    * "auto": the best, by exact Kendall sensitivity, of all methods below that fit, and then a local search from it. At
      last people whom no chain of groups links stand apart: that brings the members of every group closer, and the
      sensitivity, which is that of the worst group, does not see it.
    * "bfs": Algorithm 1 of [MRCJ22]: breadth first from the person with the largest group, in the graph that links
      everybody with the members of their group; neighbors in ascending order. It folds a line in two, which about
      doubles the sensitivity there.
    * "rcm": reverse Cuthill-McKee from an end of each component, found as George and Liu do.
    * "fiedler": by the eigenvector of the second smallest eigenvalue of the Laplacian, where people are linked as often
      as groups hold both. If all groups can stand in a row at once, they do [ABH98]; slow on expanders.
    * "coordinate": along the best of the coordinates.
    * "local-search": the local search alone, from the order in which the sites are numbered (along a line, or along the
      leaves of a k-d tree).

    Widths do not tell which order is better: the search often lowers the sensitivity by raising the width. People of
    one site follow each other.

    Args:
        groups: the groups.
        coordinates: public numbers of shape (people,) or (people, columns) to sort by, or None.
        method: one of the words above.

    Raises:
        InvalidParameterError: for another method, "coordinate" without coordinates, coordinates that are not finite or
            not one row per person, or a method that needs a graph where that has more than 3 * 10^7 links (of
            "fiedler", 3 * 10^8, counted as often as groups make them).

    References:
        [MRCJ22], Algorithm 1. A. George and J. Liu, "An Implementation of a Pseudoperipheral Node Finder", ACM TOMS 5,
        1979. E. Cuthill and J. McKee, "Reducing the bandwidth of sparse symmetric matrices", 1969. [ABH98] J. Atkins,
        E. Boman, B. Hendrickson, "A Spectral Algorithm for Seriation and the Consecutive Ones Problem", SIAM Journal on
        Computing 28, 1998.

    Example:
        >>> groups = Groups.from_lists([[3, 0], [0, 4], [4, 1], [1, 2], [2]])
        >>> reference_order(groups).tolist() in ([3, 0, 4, 1, 2], [2, 1, 4, 0, 3])
        True
    """
    instance_of(Groups, groups=groups)
    one_of(METHODS, method=method)
    columns = None if coordinates is None else _as_columns(coordinates, groups.num_users)
    if method == "auto":
        sites = _apart(groups, _improved(groups, _best(groups, _portfolio(groups, columns))))
    elif method == "coordinate":
        if columns is None:
            raise InvalidParameterError("coordinates must be given for method='coordinate'; got None.")
        sites = _best(groups, _along(groups, columns))
    elif method == "local-search":
        sites = _improved(groups, np.arange(groups.site_sizes.size))
    elif method == "fiedler":
        sites = _fiedler(groups)
    else:
        sites = {"bfs": _breadth_first, "rcm": _cuthill_mckee}[method](groups, _links(groups))
    return _people_along(groups, sites)


def _people_along(groups: Groups, sites: Integers) -> Integers:
    """People in the order of their sites; people of one site by number."""
    from scipy.sparse import csr_array

    # People by the rank of their site, counted instead of compared: a matrix that has a row for each person and a
    # column for each site, turned from rows to columns, for some of the people at a time.
    column, free = invert(sites).astype(np.int32), np.cumsum(groups.site_sizes[sites]) - groups.site_sizes[sites]
    order = np.empty(groups.num_users, dtype=np.int64)
    for start in range(0, order.size, _AT_A_TIME):
        columns = column[groups.sites[start : start + _AT_A_TIME]]
        ones, rows = np.ones(columns.size, dtype=np.bool_), np.arange(columns.size + 1, dtype=np.int32)
        turned = csr_array((ones, columns, rows), (columns.size, sites.size)).tocsc()
        counts = np.diff(turned.indptr)
        order[np.repeat(free - turned.indptr[:-1], counts) + np.arange(columns.size)] = start + turned.indices
        free += counts
    return order


def _portfolio(groups: Groups, columns: Floats | None) -> Iterator[Integers]:
    yield np.arange(groups.site_sizes.size)
    if columns is not None:
        yield from _along(groups, columns)
    if _num_links(groups) <= _MOST_LINKS:
        links = _links(groups)
        yield _breadth_first(groups, links)
        yield _cuthill_mckee(groups, links)
    if groups.site_sizes.size <= _FIEDLER_SITES and _num_shared(groups) <= _MOST_SHARED:
        yield _fiedler(groups)


def _best(groups: Groups, orders: Iterator[Integers]) -> Integers:
    best: Integers = min(orders, key=lambda order: order_sensitivity(groups, _people_along(groups, order)))
    return best


def _improved(groups: Groups, order: Integers) -> Integers:
    return improved(groups, order) if order.size > 2 else order


def _apart(groups: Groups, order: Integers) -> Integers:
    """Order of sites with one component after the other; inside a component as before."""
    component = _components(groups)[order]
    first = np.unique(component, return_index=True)[1]
    return order if first.size == 1 else order[np.argsort(first[component], kind="stable")]


def _components(groups: Groups) -> NDArray[np.int32]:
    """Component of each site, from 0: groups that share a site are in one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    runs, starts, size = groups.sets.runs.astype(np.int64), groups.sets.starts, groups.site_sizes.size
    inside = np.bincount(runs[:, 0] + 1, minlength=size + 2) - np.bincount(runs[:, 1], minlength=size + 2)
    np.cumsum(inside, out=inside)
    stretch = np.cumsum(inside[:size] == 0) - 1  # sites of one stretch are linked by runs alone
    first = np.repeat(stretch[runs[starts[:-1], 0]], np.diff(starts))
    links = (np.ones(first.size, dtype=np.bool_), (first, stretch[runs[:, 0]]))
    graph = coo_array(links, shape=(stretch[-1] + 1, stretch[-1] + 1))
    components: NDArray[np.int32] = connected_components(graph, directed=False)[1][stretch]
    return components


def _along(groups: Groups, columns: Floats) -> Iterator[Integers]:
    """Orders of the sites, one for each coordinate: by its mean over the people of each site."""
    for column in columns.T:
        means = np.bincount(groups.sites, weights=column) / groups.site_sizes
        yield np.argsort(means, kind="stable")


def _as_columns(coordinates: ArrayLike, people: int) -> Floats:
    try:
        array = np.asarray(coordinates, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError("coordinates must be numbers, one row per person.") from None
    if array.ndim not in (1, 2) or len(array) != people or array.size == 0:
        raise InvalidParameterError(f"coordinates must be one row for each of {people} people; got {array.shape}.")
    if not np.isfinite(array).all():
        raise InvalidParameterError("coordinates must be finite; some are not.")
    return array.reshape(people, -1)


# ---- the graph that links the first owner of a group with its members ------------------------------------------------


def _num_links(groups: Groups) -> int:
    return 2 * int(np.diff(groups.sets.runs, axis=1).sum())


def _check_links(count: int, most: int) -> None:
    if count > most:
        raise InvalidParameterError(
            f"method must be 'coordinate' or 'local-search' for graphs of more than {most} links; "
            f"these groups have {count}."
        )


def _num_shared(groups: Groups) -> int:
    """Number of ordered pairs of sites in each group, summed over the groups."""
    return int((groups.sites_held**2).sum())


class _Links(NamedTuple):
    """Neighbors of all sites, in visiting order: site s has the neighbors numbered starts[s] up to starts[s + 1]."""

    starts: Integers
    neighbors: Integers


def _links(groups: Groups) -> _Links:
    """Links from each group's center to its other sites, in the order of the sites' first people.

    Groups make stars, not cliques.
    """
    _check_links(_num_links(groups), _MOST_LINKS)
    size = groups.site_sizes.size
    first = groups.first_people
    number = np.empty(size, dtype=np.int64)
    by_first = np.argsort(first)
    number[by_first] = np.arange(size)
    ends, centers = np.append(0, np.cumsum(groups.sites_held)), _centers(groups)
    keys = np.empty(
        (2, ends[-1]), dtype=np.int64
    )  # there and back: filled in parts, since they may be tens of millions
    for start in range(0, len(groups), _GROUPS_AT_A_TIME):
        some = slice(start, start + _GROUPS_AT_A_TIME)
        runs = groups.sets.starts[start : start + _GROUPS_AT_A_TIME + 1]
        within, center = (
            members(groups.sets.runs[runs[0] : runs[-1]]),
            np.repeat(centers[some], groups.sites_held[some]),
        )
        part = slice(ends[start], ends[start] + within.size)
        keys[0, part], keys[1, part] = center * size + number[within], within * size + number[center]
    keys = keys.ravel()
    keys.sort()  # `np.unique` hashes first, which takes ten times as long for so many
    keys = keys[np.append(True, keys[1:] != keys[:-1])]
    starts = np.searchsorted(keys, np.arange(size + 1) * size).astype(np.int64)
    keys %= size
    return _Links(starts, by_first[keys])


def _centers(groups: Groups) -> Integers:
    """Center of each group: the site of its first owner, or else its first site."""
    owner = np.full(len(groups), groups.num_users, dtype=np.int64)
    np.minimum.at(owner, groups.own, np.arange(groups.num_users))
    of_nobody = owner == groups.num_users
    centers: Integers = groups.sets.runs[groups.sets.starts[:-1], 0].astype(np.int64)
    centers[~of_nobody] = groups.sites[owner[~of_nobody]]
    return centers


# ---- orders of the sites from the graph ------------------------------------------------------------------------------


class _Walk(NamedTuple):
    """State of a breadth-first walk: the ``level`` of each site (-1 if unvisited), and the sites visited."""

    level: Integers
    order: Integers


def _new_walk(sites: int) -> _Walk:
    return _Walk(np.full(sites, -1, dtype=np.int64), np.empty(sites, dtype=np.int64))


def _breadth_first(groups: Groups, links: _Links) -> Integers:
    walk, filled = _new_walk(groups.site_sizes.size), 0
    largest = np.zeros(walk.level.size, dtype=np.int64)
    np.maximum.at(largest, groups.sites, groups.sizes[groups.own])
    for root in np.lexsort((groups.first_people, -largest)):
        if walk.level[root] < 0:
            filled = _visit_kernel(links, walk, root, filled)
    return walk.order


def _cuthill_mckee(groups: Groups, links: _Links) -> Integers:
    walk, filled = _new_walk(groups.site_sizes.size), 0
    degrees = np.diff(links.starts)
    ends = np.repeat(np.arange(degrees.size), degrees)
    by_degree = np.lexsort((links.neighbors, degrees[links.neighbors], ends))
    links = links._replace(neighbors=links.neighbors[by_degree])
    for root in np.argsort(degrees, kind="stable"):
        if walk.level[root] < 0:
            filled = _visit_from_an_end(links, walk, root, filled)
    return walk.order[::-1]


def _visit_from_an_end(links: _Links, walk: _Walk, root: int, filled: int) -> int:
    """Visit a component breadth first, from a site at one of its ends.

    While that adds levels, the visit begins anew at the last level's site of least degree.
    """
    depth = -1
    while True:
        after = _visit_kernel(links, walk, root, filled)
        reached = walk.order[filled:after]
        if walk.level[reached[-1]] <= depth:
            return after
        depth = int(walk.level[reached[-1]])
        last = reached[walk.level[reached] == depth]
        root = last[np.argmin(links.starts[last + 1] - links.starts[last])]
        walk.level[reached] = -1


def _visit(links: _Links, walk: _Walk, root: int, filled: int) -> int:
    """Append a component, breadth first, to the ``filled`` sites of the order; return their new number."""
    level, order = walk
    order[filled] = root
    level[root] = 0
    here, after = filled, filled + 1
    while here < after:
        site = order[here]
        here += 1
        for neighbor in links.neighbors[links.starts[site] : links.starts[site + 1]]:
            if level[neighbor] < 0:
                level[neighbor] = level[site] + 1
                order[after] = neighbor
                after += 1
    return after


_visit_kernel = compiled(_visit)


def _fiedler(groups: Groups) -> Integers:
    """Order of the sites: by eigenvector inside each component, components by their first site."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import connected_components, laplacian

    _check_links(_num_shared(groups), _MOST_SHARED)
    within, ends = members(groups.sets.runs), np.append(0, np.cumsum(groups.sites_held))
    held = sp.csr_array((np.ones(within.size), within, ends), shape=(len(groups), groups.site_sizes.size))
    graph = (held.T @ held).tocsr()
    graph.setdiag(0.0)
    component = connected_components(graph, directed=False)[1]
    parts = np.split(np.argsort(component, kind="stable"), np.cumsum(np.bincount(component))[:-1])
    return np.concatenate([part[_along_eigenvector(laplacian(graph[part][:, part]))] for part in parts])


def _along_eigenvector(laplacian: Any) -> Integers:
    """Order of one component's sites by the eigenvector of the second smallest eigenvalue."""
    size = laplacian.shape[0]
    if size <= 2:
        return np.arange(size)
    if size <= _DENSE_SITES:
        vector = np.linalg.eigh(laplacian.toarray())[1][:, 1]
    else:
        from scipy.sparse.linalg import eigsh

        start = np.cos(np.arange(size))  # fixed, and with a part of every eigenvector that matters
        vector = eigsh(laplacian.tocsc(), k=2, sigma=-1e-3, which="LM", v0=start)[1][:, 1]
    return np.argsort(vector, kind="stable")
