"""Fig. 4, 8 and 11: who is vulnerable (rho) and what can be learned (lambda), against the scale of groups and alpha."""

import functools
from typing import Any

import numpy as np

import shuffledp as sdp
from experiments.checking import Drawn
from experiments.d_sigma.data import WHOLE, People, people_of
from experiments.d_sigma.mechanisms import MECHANISMS, STYLES, shuffler_of
from experiments.showing import lettered, limits, new_chart, series
from shuffledp.protocols.d_sigma.analyzers.learned_laws import BoostedRegions, laws_in_groups, learnability_error
from shuffledp.protocols.d_sigma.attacks.evaluation import MajorityVote, evaluate
from shuffledp.protocols.d_sigma.attacks.neighborhoods import NeighborhoodBayes
from shuffledp.protocols.d_sigma.attacks.side_information import SideInformation, placement, similar_people
from shuffledp.protocols.d_sigma.attacks.vote_vulnerability import Vote
from shuffledp.testing import SeededSource

Row = dict[str, Any]
KEY = ("data", "mechanism", "scale", "alpha")
MEASURED = {"rho": "fixed", "rho fresh": "fresh", "vote": "right", "control": "control"}
DRAWN = {
    **{name: Drawn(f"{name} error", "repetitions", most=1.0) for name in ("rho", "rho fresh", "vote", "control")},
    "bayes": Drawn("bayes error", "learned", most=1.0),
    "lambda": Drawn("lambda error", "learned"),
}
NEEDS = ("sklearn",)
_SETTINGS = ("data", "size", "epsilon0", "num_runs", "repetitions", "controls", "learned", "trees")


def cases(settings: Row) -> list[Row]:
    """No shuffle and a uniform one once; the others at every scale, and at every alpha for one scale."""
    given = {name: settings.get(name) for name in _SETTINGS}
    fixed = {"scale": settings["scale"], "alpha": settings["alpha"]}
    points = [fixed | {"scale": scale} for scale in settings["scales"]]
    points += [fixed | {"alpha": alpha} for alpha in settings["alphas"] if alpha != settings["alpha"]]
    ours = [name for name in MECHANISMS if name not in ("none", "uniform")]
    found = [given | {"mechanism": name, "scale": None, "alpha": None} for name in ("none", "uniform")]
    return found + [given | {"mechanism": name} | point for point in points for name in ours]


@functools.cache
def _people(name: str, size: int | None) -> tuple[People, Any]:
    people = people_of(name, size)
    return people, similar_people(people.near, count=25, privileged=people.privileged)


@functools.cache
def _groups(name: str, size: int | None, scale: Any) -> Any:
    return _people(name, size)[0].groups(scale)


def compute(case: Row) -> list[Row]:
    """Rho of the vote by both protocols, how often it and the Bayesian attack are right, and lambda."""
    people, near = _people(case["data"], case["size"])
    values = int(people.answers.max()) + 1
    groups = None if case["scale"] is None else _groups(case["data"], case["size"], case["scale"])
    shuffler = shuffler_of(case["mechanism"], groups, case["alpha"] or 0.0, people.coordinates)
    randomizer = sdp.KaryRandomizedResponse(epsilon0=case["epsilon0"], domain_size=values)
    source = SeededSource(1)
    attacked = _by_simulation if values > 2 else _by_permutations
    vote = attacked(people, near, randomizer, shuffler, case)
    bayes = evaluate(
        NeighborhoodBayes(),
        side_information=SideInformation(
            neighbors=near, placement=_placement(case["mechanism"], shuffler, near, source)
        ),
        randomizer=randomizer,
        shuffler=shuffler,
        answers=people.answers,
        num_runs=max(2, case["num_runs"] // 5),
        repetitions=1,
        control_runs=1,
        source=source,
    )
    learned = _lambda(people, values, randomizer, shuffler, case)
    return [
        {
            "data": case["data"],
            "mechanism": case["mechanism"],
            "scale": case["scale"],
            "group size": None if groups is None else float(np.median(groups.sizes[groups.own])),
            "alpha": case["alpha"],
            "epsilon0": case["epsilon0"],
            "people": int(people.answers.size),
            "repetitions": case["repetitions"],
            "learned": case["learned"],
            "naive": bayes.naive,
            **vote,
            "bayes": bayes.success,
            "bayes error": bayes.success_error,
            **_means({"lambda": learned}),
        }
    ]


def _by_permutations(people: People, near: Any, randomizer: Any, shuffler: Any, case: Row) -> Row:
    """The vote on two answers: exact given the permutations, and without a shuffle or after a uniform one exact."""
    vote = Vote(answers=people.answers, neighbors=near, truth=float(randomizer.model.p), runs=case["num_runs"])
    if case["mechanism"] == "uniform":
        found = [vote.in_cells(np.zeros(len(near), dtype=np.int64))]
    elif not hasattr(shuffler, "draw"):
        found = [vote.by_permutations([np.arange(len(near))] * vote.runs)]
    else:
        sources = [SeededSource(1).substream("repetition", number) for number in range(case["repetitions"])]
        found = [vote.by_permutations([shuffler.draw(source=each) for _ in range(vote.runs)]) for each in sources]
    return _means({name: [getattr(each, of) for each in found] for name, of in MEASURED.items()})


def _by_simulation(people: People, near: Any, randomizer: Any, shuffler: Any, case: Row) -> Row:
    """The vote on several answers, with reports drawn again and again."""
    one, many = (
        evaluate(
            MajorityVote(),
            randomizer=randomizer,
            shuffler=shuffler,
            answers=people.answers,
            side_information=SideInformation(neighbors=near),
            num_runs=case["num_runs"],
            repetitions=case["repetitions"],
            permutations=permutations,
            control_runs=controls,
            source=SeededSource(1).substream(permutations),
        )
        for permutations, controls in (("fixed", 1), ("fresh", case["controls"]))
    )
    values = (one.vulnerable, many.vulnerable, many.success, many.control)
    errors = (one.vulnerable_error, many.vulnerable_error, many.success_error, many.control_error)
    return {
        column: value
        for name, mean, error in zip(MEASURED, values, errors, strict=True)
        for column, value in ((name, mean), (f"{name} error", error))
    }


def _means(found: dict[str, list[float]]) -> Row:
    """Means and their standard errors; what is exact has none."""
    row: Row = {}
    for name, values in found.items():
        row[name] = float(np.mean(values))
        row[f"{name} error"] = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return row


def _placement(mechanism: str, shuffler: Any, near: Any, source: SeededSource) -> Any:
    """Where a person's own report may be: known without a shuffle, simulated, or nowhere."""
    if mechanism == "uniform":
        return None
    if not hasattr(shuffler, "draw"):
        return (near == np.arange(len(near))[:, None]).astype(float)
    return placement(shuffler, near, num_draws=50, source=source.substream("placement"))


def _lambda(people: People, values: int, randomizer: Any, shuffler: Any, case: Row) -> list[float]:
    """Of fresh views, by gradient boosting; what is to be learned are the laws at the scale of the attacker."""
    truth = laws_in_groups(people.answers, people.near, values)
    found = []
    for number in range(case["learned"]):
        source = SeededSource(2).substream("learned", number)
        view = shuffler.shuffle(randomizer.randomize(people.answers, source=source), source=source)
        laws = BoostedRegions(people.points, num_trees=case["trees"], seed=number).laws(view)
        found.append(learnability_error(laws, truth))
    return found


NAMES = {"adult": "Adult", "twitch": "Twitch DE", "acs": "ACS", "syn": "Syn"}
SCALES = {
    "adult": ("radius of the groups (years)", "radius {} years"),
    "twitch": ("friends in the group of a person", "groups of {} friends"),
    "acs": ("groups (people in one, median)", "groups by {}"),
    "syn": ("radius of the groups", "radius {}"),
}
LABELS = {
    "rho": "rho (one permutation)",
    "rho fresh": "rho (fresh ones)",
    "lambda": "lambda: error of laws",
}


def draw(rows: list[Row]) -> Any:
    """Rho by both protocols and lambda: against the scale above, and against alpha below."""
    data = rows[0]["data"].removesuffix(WHOLE)
    label, title = SCALES[data]
    moving = [row for row in rows if row["alpha"] is not None]
    alpha, scale = _commonest(moving, "alpha"), _commonest(moving, "scale")
    by_scale = [row for row in moving if row["alpha"] == alpha]
    by_alpha = [row for row in moving if row["scale"] == scale]
    figure, panels = new_chart(6, width=3.3, height=3.2, columns=3)
    parts = [(part, x, y) for part, x in ((by_scale, "scale"), (by_alpha, "alpha")) for y in LABELS]
    for place, (axes, (part, x, y)) in enumerate(zip(panels, parts, strict=True)):
        named = isinstance(part[0][x], str)
        _curves(axes, part, x, y, _categories(axes, part) if named else None)
        _ends(axes, rows, y)
        axes.set(ylim=(-0.02, None), ylabel=LABELS[y], xlabel="alpha" if x == "alpha" else label)
        if x == "alpha":
            axes.set_xscale("log")
        elif not named:
            _ticks(axes, sorted({row["scale"] for row in part}))
        lettered(axes, place, title.format(scale) if x == "alpha" else f"alpha = {alpha:g}")
    first = rows[0]
    name = NAMES[data] + (", everybody" if first["data"].endswith(WHOLE) else "")
    figure.suptitle(
        f"{name}: {first['people']:,} people, epsilon0 = {first['epsilon0']:g}; bars: 95% by Student's t,\n"
        f"{first['repetitions']} repetitions of rho and {first['learned']} of lambda",
        fontsize=10,
    )
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _curves(axes: Any, part: list[Row], x: str, y: str, places: dict[str, int] | None) -> None:
    """Lines over numbers; over names points beside each other, without lines."""
    for number, (name, style) in enumerate(STYLES.items()):
        line = [row for row in part if row["mechanism"] == name]
        # What lies on top of another line is hollow.
        top = {"mfc": "none", "markersize": 8, "linewidth": 1.0} if name == "noisy sort" else {}
        if line and places is not None:
            line = [row | {x: places[row[x]] + 0.14 * (number - 2)} for row in line]
            top = {"fmt": style["fmt"][1:]}
        if line:
            line = sorted(line, key=lambda row: row[x])
            series(axes, line, x, y, error=f"{y} error", count=DRAWN[y].count, **style | top)


def _categories(axes: Any, part: list[Row]) -> dict[str, int]:
    sizes = {row["scale"]: row["group size"] for row in part}
    axes.set_xticks(range(len(sizes)), [f"{name}\n({size:,.0f})" for name, size in sizes.items()])
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    return {name: place for place, name in enumerate(sizes)}


def _ticks(axes: Any, places: list[float]) -> None:
    if places[0] > 0:
        axes.set(xscale="log", xlim=(places[0] / 1.3, places[-1] * 1.3))
    else:
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(-0.3, places[-1] * 1.3)
    axes.set_xticks(places, [f"{place:g}" for place in places])
    axes.set_xticks([], minor=True)


def _commonest(rows: list[Row], column: str) -> Any:
    values = [row[column] for row in rows]
    return max(dict.fromkeys(values), key=values.count)


def _ends(axes: Any, rows: list[Row], y: str) -> None:
    """No shuffle and a uniform one as level lines, with their limits; and what the commonest answer is right about."""
    labels = {"none": STYLES["none"]["label"], "uniform": "uniform shuffle: chance level of rho"}
    for name, label in labels.items():
        row = next(row for row in rows if row["mechanism"] == name)
        style = STYLES[name]
        axes.axhline(row[y], color=style["color"], linestyle=style["fmt"], linewidth=1.6, label=label)
        low, high = (row[y] + sign * limits(row, f"{y} error", DRAWN[y].count) for sign in (-1, 1))
        axes.axhspan(low, high, color=style["color"], alpha=0.12, linewidth=0)
    if y != "lambda":
        naive = {"linestyle": "-.", "linewidth": 1.0, "label": "base rate: always the commonest answer"}
        axes.axhline(rows[0]["naive"], color="#8a8f95", **naive)
