"""Walks along a graph: the guarantee against rounds, what they cost, who hands in what, and what trust is worth."""

import math

from shuffledp._numerals import in_digits
from shuffledp.report.parts import Section
from shuffledp.report.rounds_chart import rounds_chart
from shuffledp.report.words import count, count_of, number, percent
from shuffledp.tasks import NetworkPlan, Outcome, Walked

__all__ = ["network_section"]

_HANDED_IN = {
    "all": "Everybody hands in all reports that they hold in the end.",
    "single": "Everybody hands in one of the reports that they hold in the end, chosen by lot, or a dummy.",
    "padded": "Everybody hands in equally many reports, with dummies for those that are lacking.",
}
_LACKING = {"all": "People who hold none", "single": "Dummies", "padded": "Dummies"}
_MOST_BARS = 8


def network_section(outcome: Outcome) -> Section | None:
    """Picture and tables; None for any other shuffle."""
    walked = outcome.walked
    if walked is None:
        return None
    plan, epsilon0 = walked.plan, outcome.model.local.epsilon0
    withdrawn = any(statement.withdrawn for statement in outcome.release.statements)
    context = {
        "graph": _graph(plan),
        "warnings": plan.warnings,
        "rounds": count_of(plan.rounds, "round", "rounds"),
        "epsilon": number(plan.epsilon, "at most"),
        "uniform": number(plan.uniform, "at most"),
        "fewest": _fewest(plan),
        "mixing": _mixing(plan),
        "rows": _rows(plan),
        "delta": f"{outcome.task.release.delta:g}",
        "handed_in": _HANDED_IN[plan.protocol],
        "held": _held(walked) if plan.protocol == "all" else [],
        "lacking": number(plan.own.lacking),
        "gap_name": _LACKING[plan.protocol],
        "parts": _parts(plan) if len(plan.parts) > 1 else [],
        "risks": _risks(plan),
        "half": number(epsilon0 / 2),
        "epsilon0": number(epsilon0),
        "withdrawn": withdrawn,
    }
    charts = (rounds_chart(plan, epsilon0=epsilon0, withdrawn=withdrawn),)
    return Section(name="network", title="From hand to hand", context=context, charts=charts)


def _graph(plan: NetworkPlan) -> str:
    graphs = f"{count(plan.num_graphs)} graphs in turn, the first of them with" if plan.num_graphs > 1 else "a graph of"
    repeated, loops = plan.merged_edges, plan.dropped_loops
    left_out = [
        *([count_of(repeated, "repeated edge was merged", "repeated edges were merged")] if repeated else []),
        *([count_of(loops, "loop was left out", "loops were left out")] if loops else []),
    ]
    cleaned = f" ({' and '.join(left_out)})" if left_out else ""
    return f"{graphs} {count(plan.num_users)} people and {count(plan.num_edges)} edges{cleaned}"


def _fewest(plan: NetworkPlan) -> str:
    that = "that" if plan.num_parts == 1 else "a uniform shuffle of each part"
    if plan.why_not_searched:
        return f"the fewest rounds that come within 5 % of {that} are not known: {plan.why_not_searched}"
    if plan.fewest_rounds is None:
        return f"no number of rounds is known to come within 5 % of {that}"
    return f"{count_of(plan.fewest_rounds, 'round is', 'rounds are')} the fewest that come within 5 % of {that}"


def _mixing(plan: NetworkPlan) -> list[tuple[str, str]]:
    """Two mixing times by their names."""
    if plan.mixing_time is None:
        return []
    slowest = ", of the slowest part" if plan.num_parts > 1 else ""
    by_distance = f"By distance: all positions within 0.01 of one law in total variation{slowest}"
    found = [(f"By the gap: log(people) / gap{slowest}", _mixing_time(plan.mixing_time))]
    if plan.distance_rounds is None:
        return [*found, (by_distance, "never")]
    least, most = plan.distance_rounds
    after = count(least) if least == most else f"{count(least)} to {count(most)}"
    return [*found, (by_distance, after)]


def _mixing_time(rounds: float | None) -> str:
    if rounds is None:
        return "\N{EN DASH}"
    return "never" if math.isinf(rounds) else number(rounds)


def _rows(plan: NetworkPlan) -> list[dict[str, object]]:
    return [
        {
            "rounds": count(row.rounds),
            "own": row.rounds == plan.rounds,
            "epsilon": in_digits(row.epsilon, "at most"),
            "messages": number(row.messages),
            "most": number(row.messages_most),
            "lacking": number(row.lacking),
        }
        for row in plan.by_rounds
    ]


def _held(walked: Walked) -> list[tuple[str, str, str]]:
    """How many people handed in none, one, two and so on, the last line being all that hand in more."""
    people = sum(walked.held)
    shown = list(walked.held[:_MOST_BARS])
    rest = sum(walked.held[_MOST_BARS:])
    names = [count(number_of) for number_of in range(len(shown))]
    if rest:
        shown.append(rest)
        names.append(f"{_MOST_BARS} or more")
    longest = max(shown)
    return [
        (name, f"{count(many)} ({percent(many / people)})", f"{100 * many / longest:.1f}")
        for name, many in zip(names, shown, strict=True)
    ]


def _parts(plan: NetworkPlan) -> list[tuple[str, ...]]:
    return [
        (
            count(part.people),
            count(part.edges),
            _mixing_time(part.mixing_time),
            in_digits(part.epsilon, "at most"),
            in_digits(part.uniform, "at most"),
            "\N{EN DASH}" if part.fewest_rounds is None else count(part.fewest_rounds),
        )
        for part in plan.parts
    ]


def _chance(exposure: float) -> str:
    """Rounded up, but never to certainty."""
    if 0.999 < exposure < 1:
        return "above 99.9%"
    return f"{math.ceil(1000 * exposure) / 10:.1f}%"


def _risks(plan: NetworkPlan) -> list[tuple[str, str, str]]:
    return [
        (
            f"{100 * each.share:.3g}%",
            _chance(each.exposure),
            number(each.delta_at_least, "at least"),
        )
        for each in plan.risks
    ]
