"""The commands whose output is recorded: tasks, made-up inputs, and what is asked about them.

Everything here is plain data and the public command line, so that it outlives any move of a module.
"""

import math
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cli.running import toml, write_csv

PEOPLE = 90
SEED = ("--seed", 7)
SKILLS = ("bow", "axe", "rod", "net")
KIND_OF_SKILL = {"epsilon0": 1.5, "categories": list(SKILLS)}
HOURS = {"lower": 0.0, "upper": 60.0}
HOSTS = {"hosts": 5, "colluding_hosts": 2}
DELTA = {"delta": 1e-5}
NEAR = {"public": ["km", "town"], "groups": {"columns": ["km"], "radius": 2.0}}


def _task(value: str, randomizer: dict[str, Any] | None, **further: Any) -> str:
    task = {"name": f"{value} of the village", "value": value, "release": DELTA} | further
    return toml(task if randomizer is None else task | {"randomizer": randomizer})


def _skills(kind: str, **further: Any) -> str:
    return _task("skill", {"kind": kind, **KIND_OF_SKILL}, people={"expected": PEOPLE}, **further)


def _walk(**further: Any) -> str:
    shuffler = {"kind": "network", "graph": "friends.csv", "rounds": 6, **further}
    return _skills("k-rr", public=["town"], shuffler=shuffler)


SEVERAL = """
name = "two questions"
public = ["town"]
missing = "drop"
[[value]]
column = "skill"
randomizer = {kind = "olh", epsilon0 = 1.0, categories = ["bow", "axe", "rod", "net"]}
[[value]]
column = "hours"
randomizer = {kind = "one-bit-mean", epsilon0 = 0.5, lower = 0, upper = 60}
[people]
expected = 90
[release]
delta = 1e-5
minimum_batch = 20
"""

TASKS = {
    "k-rr": _skills("k-rr", public=["town"]),
    "oue": _skills("oue"),
    "sue": _skills("sue"),
    "olh": _skills("olh"),
    "hadamard": _skills("hadamard"),
    "subset": _skills("subset"),
    "laplace-mean": _task(
        "hours", {"kind": "laplace-mean", "epsilon0": 1.0, "lower": 5.0, "upper": 50.0, "out_of_range": "clip"}
    ),
    "one-bit-mean": _task("hours", {"kind": "one-bit-mean", "epsilon0": 1.0, **HOURS}),
    "rounded-mean": _task("hours", {"kind": "rounded-mean", "epsilon0": 1.0, **HOURS, "num_levels": 6}),
    "priv-unit": _task("direction", {"kind": "priv-unit", "epsilon0": 2.0, "dimension": 3}),
    "split-and-mix": _task(
        "hours", None, protocol={"kind": "split-and-mix", "epsilon": 8.0, **HOURS}, people={"expected": PEOPLE}
    ),
    "hosts": _task(
        "hours",
        None,
        protocol={"kind": "split-and-mix", "epsilon": 8.0, **HOURS, "buffers": "host", **HOSTS},
        people={"expected": PEOPLE},
    ),
    "counted-bits": _task(
        "hours", None, protocol={"kind": "counted-bits", "epsilon": 2.0, **HOURS}, people={"expected": PEOPLE}
    ),
    "vector-sum": _task(
        "direction",
        None,
        protocol={"kind": "vector-sum", "epsilon": 4.0, "largest_norm": 1.0, "dimension": 3},
        people={"expected": PEOPLE},
    ),
    "mallows": _skills("k-rr", shuffler={"kind": "mallows", "alpha": 4.0}, **NEAR),
    "hamming": _skills("k-rr", shuffler={"kind": "mallows", "alpha": 4.0, "distance": "hamming"}, **NEAR),
    "noisy-sort": _skills("k-rr", shuffler={"kind": "noisy-sort", "alpha": 4.0}, **NEAR),
    "auto": _skills("k-rr", shuffler={"kind": "auto", "alpha": 4.0}, **NEAR),
    "network": _walk(),
    "network-lazy": _walk(rounds=3, protocol="single", laziness=0.25, dropouts=0.02),
    "imperfect": _skills("k-rr", shuffler={"kind": "imperfect", "imperfection": 0.5}),
    "delay": _skills("k-rr", shuffler={"kind": "imperfect", "imperfection": 1.0, "construction": "delay"}),
    "identity": _skills("k-rr", shuffler={"kind": "none"}, public=["town"]),
    "strata": _skills("k-rr", by="town", weight="size", weight_classes=2, release=DELTA | {"minimum_batch": 10}),
    "missing-drop": _task("gap", {"kind": "olh", **KIND_OF_SKILL}, missing="drop", missing_values=["", "n/a"]),
    "missing-category": _task("gap", {"kind": "subset", **KIND_OF_SKILL}, missing="category", missing_values=["n/a"]),
    "several": SEVERAL,
}
IN_PLACES = {"mallows", "hamming", "noisy-sort", "auto"}
OF_PARQUET = {"priv-unit", "vector-sum"}
# The keys of a noisy sort come from the mathematical library of the machine: no order that it draws is compared.
DRAWN_BY_PLATFORM = {"noisy-sort", "auto"}


def write_inputs(folder: Path) -> None:
    """All tasks and tables, from a fixed seed."""
    draw = random.Random(11)
    rows, directions = [], []
    for person in range(PEOPLE):
        skill = SKILLS[min(draw.randrange(6), 3)]
        gap = skill if person % 9 else ("" if person % 2 else "n/a")
        rows.append(
            [f"town {person % 3}", f"{person * 0.37:.2f}", skill, str(draw.randrange(61)), gap, str(1 + person % 4)]
        )
        angle = draw.random() * math.tau
        directions.append([math.cos(angle) * 0.6, math.sin(angle) * 0.6, 0.8])
    write_csv(folder / "people.csv", ["town", "km", "skill", "hours", "gap", "size"], rows)
    write_csv(folder / "km.csv", ["town", "km"], [row[:2] for row in rows])
    pq.write_table(pa.table({"direction": directions}), folder / "people.parquet")
    chords = [draw.sample(range(PEOPLE), 2) for _ in range(400)]
    ring = [(person, (person + 1) % PEOPLE) for person in range(PEOPLE)]
    write_csv(folder / "friends.csv", ["a", "b"], [*ring, *chords])
    write_csv(folder / "odd.csv", ["a", "b"], [(0, 1), (1, 2), (2, 0), (2, 3), (3, 2), (5, 6), (7, 7)])
    for name, lines in {
        "matrix.csv": "0.7,0.2,1/10\n0.2,0.6,0.2\n0.1,0.2,0.7\n",
        "gain.csv": "1,0,0\n0,1,1\n1/2,.5,0.5\n",
    }.items():
        (folder / name).write_text(lines, encoding="utf-8")
    for name, text in TASKS.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Case:
    """Commands in a fresh folder, one after the other; what is compared is the output of the last.

    Args:
        family: the file of records.
        name: within the family.
        steps: the commands.
        text: whether the last is also run without ``--json``, into another output, for the numbers on the screen.
        json: whether the last is run with ``--json``.
        files: written files whose columns are compared.
        less: keys that are left out of the JSON, at every depth, because every run draws them afresh.
        deep: whether it takes more than about a second of processor time.
    """

    family: str
    name: str
    steps: tuple[tuple[Any, ...], ...]
    text: bool = True
    json: bool = True
    files: tuple[str, ...] = ()
    less: tuple[str, ...] = ()
    deep: bool = False

    @property
    def id(self) -> str:
        """The name that a test shows."""
        return f"{self.family}/{self.name}"


LDP = ("account", "--epsilon0", 1, "--users", 10_000, "--delta", 1e-6)


def _kind(name: str, *further: Any) -> tuple[Any, ...]:
    return ("account", "--randomizer", name, "--epsilon0", 1, "--users", 1000, "--delta", 1e-6, *further)


ACCOUNT = {
    "ldp-table": (*LDP, "--table"),
    "published-only": (*LDP, "--published-only", "--table"),
    "releases": (*_kind("k-rr", "--categories", 4), "--releases", 5),
    "honest": (*LDP, "--honest-fraction", 0.8),
    "local-delta": (*LDP, "--local-delta", 1e-10, "--table"),
    "renyi": (*LDP, "--renyi", "2,8,32"),
    "k-rr-table": _kind("k-rr", "--categories", 10, "--table"),
    "channel-renyi": ("account", "--channel", "matrix.csv", "--users", 6, "--delta", 1e-3, "--renyi", "2"),
    **{kind: _kind(kind, "--categories", 6) for kind in ("oue", "sue", "olh", "hadamard", "subset")},
    "laplace": _kind("laplace"),
    "channel": ("account", "--channel", "matrix.csv", "--users", 500, "--delta", 1e-5, "--table"),
    "split-and-mix": ("account", "split-and-mix.toml", "--table"),
    "imperfect": ("account", "imperfect.toml"),
}
CALIBRATE = {
    "epsilon0": ("--users", 1000),
    "users": ("--epsilon0", 1.0),
    "k-rr-epsilon0": ("--users", 1000, "--randomizer", "k-rr", "--categories", 5),
    "oue-users": ("--epsilon0", 2.0, "--randomizer", "oue", "--categories", 5),
}
SUMS = ("split-and-mix", "hosts", "counted-bits", "vector-sum")
THREE = ("leakage", "--categories", 3, "--epsilon0", 1)
LEAKAGE = {
    "guesses": (*THREE, "--users", 4),
    "compare": ("leakage", "--categories", 5, "--epsilon0", 1, "--users", 1000, "--compare"),
    "uneven": (*THREE, "--users", 30, "--prior", "1/5,0.3,0.5", "--compare"),
    "strong": (*THREE, "--users", 1000, "--adversary", "strong"),
    "gain": (*THREE, "--users", 9, "--gain", "gain.csv", "--compare"),
    "channel": ("leakage", "--channel", "matrix.csv", "--users", 50, "--prior", "0.2,0.3,0.5"),
    "oue": ("leakage", "--randomizer", "oue", "--categories", 2, "--epsilon0", 1, "--users", 3),
    "subset": ("leakage", "--randomizer", "subset", "--categories", 4, "--epsilon0", 1, "--users", 6),
    "bound": (*THREE, "--users", 1000, "--prior", "0.3,0.34,0.36", "--shuffler", "mallows:0.5"),
    "mallows-small": (*THREE, "--users", 6, "--shuffler", "mallows:0.5"),
    "hamming": (*THREE, "--users", 20, "--shuffler", "mallows-hamming:0.5"),
    "imperfect-option": (*THREE, "--users", 50, "--shuffler", "imperfect:0.5"),
    "none": (*THREE, "--users", 30, "--shuffler", "none", "--compare"),
    "task": ("leakage", "k-rr.toml"),
    "imperfect": ("leakage", "imperfect.toml"),
    "network": ("leakage", "network.toml"),
    "mallows": ("leakage", "mallows.toml", "--input", "km.csv"),
    "several": ("leakage", "several.toml", "--value", "skill"),
}
AUDIT = {
    "k-rr": ("k-rr.toml", "--users", 30, "--leakage"),
    "statistics": ("k-rr.toml", "--statistics"),
    "imperfect": ("imperfect.toml", "--users", 20),
    "several": ("several.toml", "--users", 30),
    "mallows": ("mallows.toml", "--input", "km.csv"),
}
SHOWN_PLANS = {"strata", "laplace-mean", "priv-unit", *SUMS, "mallows", "missing-drop", "several"}
# Above a second of processor time or nearly; all commands that write a page are too, since its curves take seconds.
SLOW = {
    "account": {
        "ldp-table",
        "releases",
        "renyi",
        "k-rr-table",
        "channel-renyi",
        "hadamard",
        "subset",
        "channel",
        "sue",
    },
    "calibrate": {"k-rr-epsilon0", "oue-users"},
    "leakage": {"uneven", "bound", "mallows"},
    "audit": set(AUDIT),
    "stages": {"auto", "hosts", "counted-bits", "vector-sum"},
    "plan": set(TASKS) - {"priv-unit", "identity"},
}


def _input(name: str) -> tuple[Any, ...]:
    return ("--input", "people.parquet" if name in OF_PARQUET else "people.csv")


def _stages(name: str) -> Case:
    """Randomize and shuffle: quick, with the task's digest, and with all that is drawn."""
    ending = "" if name == "several" else ".parquet"
    reports, view = f"reports{ending}", f"view{ending}"
    inside = ("/skill.parquet", "/hours.parquet") if name == "several" else ("",)
    shown = (reports,) if name in DRAWN_BY_PLATFORM else (reports, view)
    return Case(
        family="stages",
        name=name,
        steps=(
            ("randomize", f"{name}.toml", *_input(name), "--output", reports, *SEED),
            ("shuffle", f"{name}.toml", "--input", reports, "--output", view, *SEED),
        ),
        files=tuple(each + part for each in shown for part in inside),
    )


def _run(name: str, *further: Any) -> Case:
    shown = () if name in DRAWN_BY_PLATFORM | {"several"} else ("out/release.parquet",)
    return Case(
        family="run",
        name=name,
        steps=(("run", f"{name}.toml", *_input(name), "--output", "out", *SEED, *further),),
        files=shown,
        text=name in {"olh", "strata", "several", "mallows", *SUMS, "missing-drop"},
        less=("estimates",) if name in DRAWN_BY_PLATFORM else (),
        deep=True,
    )


def _plan(name: str) -> Case:
    people = ("--input", "km.csv") if name in IN_PLACES else () if "network" in name else ("--users", PEOPLE)
    people = _input(name) if name == "strata" else people
    table = ("--table",) if name == "network" else ()
    step = ("plan", f"{name}.toml", *people, *table)
    return Case(family="plan", name=name, steps=(step,), text=name in SHOWN_PLANS)


def _unseeded(name: str) -> Case:
    """What is stated of a run that nobody can repeat; estimates are drawn afresh."""
    run = ("run", f"{name}.toml", *_input(name), "--output", "out")
    drawn = ("estimates", "network_held", "held", "where")
    return Case(family="statements", name=name, steps=(run,), text=False, less=drawn, deep=True)


def _cases() -> list[Case]:
    single = (
        ("account", ACCOUNT),
        ("calibrate", {name: ("calibrate", "--target-epsilon", 0.5, "--delta", 1e-6, *options)
                       for name, options in CALIBRATE.items()}),
        ("leakage", LEAKAGE),
        ("audit", {name: ("audit", *options, "--trials", 200, "--seed", 3) for name, options in AUDIT.items()}),
        ("graph", {name: ("graph", "inspect", f"{name}.csv") for name in ("friends", "odd")}),
    )  # fmt: skip
    cases = [Case(family=family, name=name, steps=(step,)) for family, steps in single for name, step in steps.items()]
    cases += (
        [_stages(name) for name in TASKS]
        + [_plan(name) for name in TASKS if name not in {"hamming", "delay", "network-lazy"}]
        + [_run(name) for name in TASKS if name not in {"sue", "hadamard"}]
    )
    cases += [_unseeded(name) for name in ("several", "mallows", "network", "imperfect")]
    cases.append(_analyzed())
    cases.append(_earlier())
    cases.append(
        Case(
            family="demo",
            name="demo",
            steps=(("demo", "--output", "out", "--people", 300, *SEED),),
            json=False,
            deep=True,
        )
    )
    return [replace(case, deep=case.deep or case.name in SLOW.get(case.family, ())) for case in cases]


def _analyzed() -> Case:
    stages = (
        ("randomize", "several.toml", "--input", "people.csv", "--output", "reports", *SEED),
        ("shuffle", "several.toml", "--input", "reports", "--output", "view", *SEED),
        ("analyze", "several.toml", "--input", "view", "--output", "out"),
    )
    return Case(family="analyze", name="several", steps=stages, text=False, deep=True)


def _earlier() -> Case:
    """The same people again: the loss of a release adds to that of the next."""
    first = ("run", "k-rr.toml", "--input", "people.csv", "--output", "first")
    again = ("plan", "k-rr.toml", "--earlier", "first/statement.json")
    return Case(family="earlier", name="k-rr", steps=(first, again), less=("statement_sha256",), deep=True)


CASES = _cases()
