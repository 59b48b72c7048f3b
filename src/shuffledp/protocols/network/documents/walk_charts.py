"""Charts of walks: epsilon against rounds on a graph, and against messages on overlays."""

from functools import partial

from shuffledp.core.text import count_of, percent
from shuffledp.documents.charts.chart import Axis, Chart, Dots, Line, Mark, Note, Panel
from shuffledp.documents.charts.drawing import draw
from shuffledp.documents.charts.epsilon_charts import WITHDRAWN, here
from shuffledp.documents.words import count, number, short_count
from shuffledp.protocols.network.laws.overlay_loads import average_exposure
from shuffledp.protocols.network.planning.network_plan import NetworkPlan
from shuffledp.protocols.network.planning.overlay_designs import OverlayDesigns

_ROOM = 1.6  # above what is drawn, as a factor; twice this factor below
_PASSED_ON = "messages that each person passes on"


def rounds_chart(plan: NetworkPlan, *, epsilon0: float, withdrawn: bool) -> Chart:
    """Chart of epsilon by number of rounds, between the local and the uniform shuffle's epsilon."""
    caption = [
        "Both axes are logarithmic. Dots: what is guaranteed after this number of rounds; other numbers were not "
        "computed. Dashed: a uniform shuffle of everybody. Dotted: no shuffling."
    ]
    if withdrawn:
        caption.append(WITHDRAWN)
    least, most = plan.by_rounds[0], plan.by_rounds[-1]
    return Chart(
        name="rounds",
        title="Guarantee against rounds",
        description=(
            f"Epsilon is {number(least.epsilon, 'at most')} after {count_of(least.rounds, 'round')} and "
            f"{number(most.epsilon, 'at most')} after {most.rounds}; the numbers are in the table below."
        ),
        caption=" ".join(caption),
        panels=(_rounds(plan, epsilon0, withdrawn=withdrawn),),
    )


def _rounds(plan: NetworkPlan, epsilon0: float, *, withdrawn: bool) -> Panel:
    """Panel with a dot for each computed number of rounds, and its cost on top."""
    drawn = [row for row in plan.by_rounds if row.rounds > 0]
    lowest = min([plan.uniform, *(row.epsilon for row in drawn)])
    x = Axis(label="rounds", ends=(drawn[0].rounds * 0.9, drawn[-1].rounds * 1.1), is_log=True, is_short=True)
    y = _epsilon(lowest, max(epsilon0, lowest))
    own, at = plan.own, [row for row in drawn if row.messages > 0]
    marks = (
        *_limits(x, plan.uniform, epsilon0, above=-9),
        Dots(x=[row.rounds for row in drawn], y=[row.epsilon for row in drawn]),
    )
    if plan.rounds:
        said = f"this task: {count_of(own.rounds, 'round')}"
        marks += here(x, y, (own.rounds, own.epsilon), said, withdrawn=withdrawn)
    costs = tuple(
        (float(row.rounds), short_count(round(row.messages))) for row in (at[:1] if len(at) < 2 else (at[0], at[-1]))
    )
    return Panel(x=x, y=y, marks=marks, height=(360, 300), above=(_PASSED_ON, costs))


def _epsilon(least: float, most: float) -> Axis:
    return Axis(label="epsilon", ends=(least / _ROOM**2, most * _ROOM), is_log=True, ticks=(10, 10))


def _limits(x: Axis, uniform: float, epsilon0: float, *, above: float) -> tuple[Mark, ...]:
    """Reference lines of a chart: dashed for a uniform shuffle, with its name, and dotted for no shuffle.

    The name is ``above`` its line, in pixels.
    """
    first, last = x.ends or (1.0, 1.0)
    return (
        Line(x=(first, last), y=(uniform, uniform), color="green", dash="dashed"),
        Note(f"uniform shuffle: {number(uniform, 'at most')}", (first, uniform), (6, above), color="green"),
        Line(x=(first, last), y=(epsilon0, epsilon0), color="vermilion", width=1.3, dash="dotted"),
        Note(f"no shuffling: {number(epsilon0)}", (first, epsilon0), (6, 9), color="vermilion"),
    )


def designs_chart(found: OverlayDesigns) -> Chart:
    """Chart of overlays and of rounds on a random graph: messages sent, epsilon, and exposure to colluders."""
    chosen = found.chosen
    beside = "; dots: rounds on a random graph, to compare with" if found.random_graph else ""
    return Chart(
        name="overlays",
        title=f"Messages against epsilon, {count(found.num_users)} people",
        description=(
            f"Both axes are logarithmic. All overlays have epsilon = {number(found.epsilon, 'at most')}; the best has "
            f"{count_of(chosen.rounds, 'round')} and {chosen.messages:.1f} messages each."
        ),
        caption=(
            f"Squares: overlays, with their rounds{beside}. Dashed: a uniform shuffle. Dotted: no shuffling. Color: "
            f"the chance that any of the {percent(found.colluders)} who collude ever holds a report."
        ),
        panels=(_designs(found),),
    )


def designs_figure(found: OverlayDesigns) -> bytes:
    """Chart of the overlay designs as an SVG file."""
    return draw(designs_chart(found)).as_file()


def _designs(found: OverlayDesigns) -> Panel:
    """Panel with a square for each overlay, and a dot for each number of rounds on a random graph."""
    walked = found.random_graph.by_rounds if found.random_graph else ()
    messages, colluding = [each.messages for each in found.designs], found.chosen.colluding
    x = Axis(label=_PASSED_ON, ends=(0.8, 1.4 * max([*messages, *(each.rounds for each in walked)])), is_log=True)
    marks = list(_limits(x, found.epsilon, found.epsilon0, above=16))
    if walked:
        of_rounds = partial(average_exposure, num_users=found.num_users, num_colluding=colluding)
        exposed = [of_rounds(num_rounds=each.rounds) for each in walked]
        reached = [(each.rounds, each.epsilon) for each in walked]
        marks.append(Dots(x=[x for x, _ in reached], y=[y for _, y in reached], size=6, shades=exposed))
        where = next((at for at in reached if at[1] < 0.8 * found.epsilon0), reached[-1])
        marks.append(Note("rounds on a\nrandom graph", where, (10, 6), color="soft"))
    level, seen = [found.epsilon] * len(messages), [each.exposure for each in found.designs]
    marks.append(Dots(x=messages, y=level, size=9.5, edge="", shades=seen, is_square=True))
    for place, design in enumerate(found.designs):
        at, rounds = (design.messages, found.epsilon), design.rounds
        if place == found.best:
            best = f"best: {count_of(rounds, 'round')}"
            marks.append(Note(best, at, (0, -30), align="center", color="blue", is_bold=True))
        else:
            marks.append(Note(count(rounds), at, (0, -14), align="center", is_wide_only=True))
    y = _epsilon(found.epsilon, found.epsilon0)
    return Panel(x=x, y=y, marks=tuple(marks), height=(400, 320), shades="ever seen")
