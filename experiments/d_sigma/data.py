"""The people of each figure: private answers, public places, what is privileged, and groups at several scales."""

import csv
import functools
import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

import shuffledp as sdp
from experiments.running import DATA
from shuffledp.demo import make_survey
from shuffledp.protocols.d_sigma.people.assignment import Groups

WHOLE = " whole"  # after the name of a data set that is not balanced
FILES = {
    "adult": "adult/adult.data.gz",
    "acs": "nist_acs_excerpts/nist_acs_2019.csv.gz",
    "twitch": "twitch_de/twitch_de.npz",
}


def files_of(*names: str | None) -> list[Path]:
    """What is read for data sets; nothing for one that is drawn."""
    kinds = [name.removesuffix(WHOLE) for name in names if name is not None]
    return [DATA / FILES[kind] for kind in kinds if kind in FILES]


@dataclass(frozen=True, kw_only=True)
class People:
    """One data set.

    Args:
        answers: private, numbers from 0 on.
        points: public places, which the analyst learns from.
        privileged: what only the attacker knows, or None.
        groups: the groups of the shuffle, by scale.
        near: the groups that the attacker looks at (r*), and at whose scale there is something to learn.
        cells: the number of everybody's smallest group, where those do not overlap, or None.
        coordinates: for the reference order, or None.
    """

    answers: NDArray[np.int64]
    points: NDArray[np.float64]
    privileged: NDArray[np.float64] | None
    groups: Callable[[Any], Groups]
    near: Groups
    cells: NDArray[np.int64] | None = None
    coordinates: Any = None


def people_of(name: str, size: int | None = None) -> People:
    """The people of a data set; with ``size`` that many of them, the first in a fixed random order.

    Adult and ACS have as many people of each answer; "adult whole" and "acs whole" have everybody.
    """
    return _SETS[name](size)


def _lines(name: str) -> Iterator[list[str]]:
    with gzip.open(DATA / FILES[name], "rt", encoding="utf-8", newline="") as file:
        yield from (row for row in csv.reader(file, skipinitialspace=True) if row)


def _kept(answers: NDArray[np.int64], size: int | None, whole: bool) -> NDArray[np.int64]:
    """As many people of each answer, drawn with a fixed seed: else the commonest answer is right about most people."""
    draw = np.random.default_rng(0)
    if whole:
        return np.sort(draw.permutation(answers.size)[:size])
    least = int(np.bincount(answers).min()) if size is None else size // 2
    kept = [draw.permutation(np.flatnonzero(answers == value))[:least] for value in np.unique(answers)]
    return np.sort(np.concatenate(kept))


def _adult(size: int | None, *, whole: bool) -> People:
    """Income above 50K, by age; marital status is privileged."""
    rows = list(_lines("adult"))
    answers = np.array([row[14].startswith(">") for row in rows]).astype(np.int64)
    kept = _kept(answers, size, whole)
    ages = np.array([float(row[0]) for row in rows])[kept]
    marital = np.unique([row[5] for row in rows], return_inverse=True)[1][kept].astype(float)
    return People(
        answers=answers[kept],
        points=ages,
        privileged=marital,
        groups=lambda years: Groups.from_radius(ages, years),
        near=Groups.from_radius(ages, 5),
        cells=np.unique(ages, return_inverse=True)[1],
        coordinates=ages,
    )


def _acs(size: int | None, *, whole: bool) -> People:
    """Owned or rented homes, by place (PUMA); the decile of income is privileged. Without group quarters."""
    rows = _lines("acs")
    header = next(rows)
    excerpt, place, tenure, decile = (header.index(name) for name in ("excerpt", "PUMA", "OWN_RENT", "PINCP_DECILE"))
    kept = [row for row in rows if row[tenure] in "12" and row[decile] != "N"]
    answers = np.array([int(row[tenure]) - 1 for row in kept])
    chosen = _kept(answers, size, whole)
    places = np.array([row[place] for row in kept])[chosen]
    deciles = np.array([float(row[decile]) for row in kept])[chosen]
    labels: dict[str, Any] = {
        "place": places,
        "state": [each.split("-")[0] for each in places],
        "excerpt": np.array([row[excerpt] for row in kept])[chosen],
    }
    numbers = np.unique(places, return_inverse=True)[1]
    return People(
        answers=answers[chosen],
        points=numbers.astype(float),
        privileged=deciles,
        groups=lambda scale: Groups.from_labels(labels[scale]),
        near=Groups.from_labels(places),
        cells=numbers,
    )


def _twitch(size: int | None) -> People:
    """Explicit language, by friendships; nothing is privileged. Places are leading singular vectors."""
    stored = np.load(DATA / FILES["twitch"])
    graph = sdp.Graph.from_edges(stored["edges"], num_users=len(stored["mature"]))
    kept = np.arange(graph.num_users if size is None else size)
    edges = stored["edges"][(stored["edges"] < kept.size).all(axis=1)]
    adjacency = _adjacency(edges, kept.size)
    common = np.asarray(adjacency.multiply(adjacency @ adjacency)[edges[:, 0], edges[:, 1]]).ravel()
    # Ties of equal strength are ordered by number, so that groups have the size that is asked for.
    weights = common + 1 + np.arange(len(edges)) / (2 * len(edges))
    ties = sdp.Graph.from_edges(edges, num_users=kept.size, weights=weights)
    degrees = np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1)
    scaled = adjacency.multiply(1 / np.sqrt(degrees)[:, None]).multiply(1 / np.sqrt(degrees)[None]).tocsr()
    vectors = svds(scaled, k=6, v0=np.ones(kept.size))[0]
    return People(
        answers=stored["mature"][kept].astype(np.int64),
        points=np.column_stack([vectors / np.sqrt(degrees)[:, None], np.log(degrees)]),
        privileged=None,
        groups=lambda friends: Groups.from_graph(ties, neighbors=friends),
        near=Groups.from_graph(ties, hops=1),
    )


def _adjacency(edges: NDArray[np.integer], people: int) -> Any:
    from scipy.sparse import coo_matrix

    half = coo_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(people, people)).tocsr()
    return half + half.T


def _syn(size: int | None) -> People:
    """Eight labels at three granularities, by position."""
    survey = make_survey(size or 20_000)
    return People(
        answers=survey.labels,
        points=survey.positions,
        privileged=None,
        groups=lambda radius: Groups.from_radius(survey.positions, radius),
        near=Groups.from_radius(survey.positions, 0.1),
        coordinates=survey.positions,
    )


_SETS: dict[str, Callable[[int | None], People]] = {
    "adult": functools.partial(_adult, whole=False),
    "adult whole": functools.partial(_adult, whole=True),
    "acs": functools.partial(_acs, whole=False),
    "acs whole": functools.partial(_acs, whole=True),
    "twitch": _twitch,
    "syn": _syn,
}
