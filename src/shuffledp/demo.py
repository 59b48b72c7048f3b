"""Synthetic survey "Syn": made-up people at 2-D positions, with one of eight labels.

Labels have structure at three scales. Warm and cool clusters; two crescents inside each cluster; a light and a dark
half of each crescent. After the synthetic data set of "Privacy Implications of Shuffling" (Meehan et al. 2022), Section
5.
"""

import csv
import filecmp
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate

# (cluster, crescent, half) read as a binary number is the label.
LABELS = (
    "light red", "dark red", "light orange", "dark orange",  # warm: upper crescent, lower crescent
    "light blue", "dark blue", "light green", "dark green",  # cool
)  # fmt: skip

_CLUSTER_CENTERS = np.array([[-1.8, 0.0], [1.8, 0.0]])
_SPREAD = 0.11
_SHARE_OF_OWN_LABEL = 0.8  # the others hold any label: places do not determine answers

_TASK = """\
# What is asked and how it is protected, fixed before anything is collected.
name = "Syn: a survey of made-up people"
value = "label"
public = ["x", "y"]

[people]
id = "person"
expected = {people}

[randomizer]
kind = "k-rr"
epsilon0 = 2.5
categories = [{categories}]

[shuffler]
kind = "uniform"

[release]
delta = 1e-6
minimum_batch = 100
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """People of Syn: public places, shape (n, 2), and private answers, shape (n,).

    Answers are indices of ``LABELS``.
    """

    positions: NDArray[np.float64]
    labels: NDArray[np.int64]


def make_survey(num_people: int = 20_000, *, seed: int = 0) -> Survey:
    """Made-up people of Syn; equal seeds make equal people.

    Args:
        num_people: 1 or more.
        seed: of the made-up data (nothing here protects anybody).

    Example:
        >>> survey = make_survey(1000)
        >>> survey.positions.shape, sorted(set(survey.labels.tolist())) == list(range(8))
        ((1000, 2), True)
    """
    validate.integer_at_least(1, num_people=num_people)
    draw = np.random.default_rng(seed)
    cluster, crescent = draw.integers(0, 2, (2, num_people))
    angle = draw.uniform(0, np.pi, num_people)
    # The upper crescent opens downward; the lower one is turned around and reaches into it.
    side = 1 - 2 * crescent
    x = np.cos(angle) * side + 0.5 * (2 * crescent - 1)
    y = np.sin(angle) * side - 0.25 * side
    noise = draw.normal(0, _SPREAD, (num_people, 2))
    positions = np.column_stack([x, y]) + noise + _CLUSTER_CENTERS[cluster]
    half = (angle > np.pi / 2).astype(np.int64)
    typical = 4 * cluster + 2 * crescent + half
    labels = np.where(draw.random(num_people) < _SHARE_OF_OWN_LABEL, typical, draw.integers(0, 8, num_people))
    return Survey(positions=positions, labels=labels)


def write_survey(folder: Path, *, people: int = 20_000) -> tuple[Path, Path]:
    """Write ``task.toml`` and ``survey.csv`` to a folder, and return the paths of both files."""
    survey = make_survey(people)
    answers = folder / "survey.csv"
    with answers.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "x", "y", "label"])
        for person, ((x, y), label) in enumerate(zip(survey.positions, survey.labels, strict=True)):
            writer.writerow([person, f"{x:.4f}", f"{y:.4f}", LABELS[label]])
    task = folder / "task.toml"
    categories = ", ".join(f'"{label}"' for label in LABELS)
    task.write_text(_TASK.format(people=people, categories=categories), encoding="utf-8")
    return task, answers


def is_survey(folder: Path) -> bool:
    """Whether a folder holds exactly the files that `write_survey` writes."""
    try:
        planned = re.search(
            r"^expected = ([0-9]{1,9})$", (folder / "task.toml").read_text(encoding="utf-8"), re.MULTILINE
        )
        if planned is None or int(planned[1]) < 1:
            return False
        with tempfile.TemporaryDirectory() as fresh:
            made = write_survey(Path(fresh), people=int(planned[1]))
            return all(filecmp.cmp(file, folder / file.name, shallow=False) for file in made)
    except (OSError, ValueError):
        return False
