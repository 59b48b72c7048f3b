"""Estimates by place: a line along one public number, a map of two, or a row for each label."""

from dataclasses import replace

import numpy as np

from shuffledp.estimates import Estimate
from shuffledp.report.parts import Section
from shuffledp.report.place_charts import PlacesDrawn, place_charts, place_name
from shuffledp.report.words import Scale, count, count_of, number, percent
from shuffledp.tasks import GroupsSection, Mixing, Outcome, Regional

__all__ = ["places_section"]

_MOST_OPEN = 15
_MOST_ROWS = 400
_FEW, _MANY = 0.1, 0.5  # of a group's reports that stay, beyond what a uniform shuffle leaves there


def places_section(outcome: Outcome) -> Section | None:
    """A chart of the target that differs most between places, and a table of all; None without regional estimates."""
    regional, section = outcome.regional, outcome.task.groups
    if regional is None or section is None:
        return None
    scale = Scale.of(regional.estimate, outcome.model.local)
    drawn = _most_varied(regional, outcome.release.estimate, scale, outcome.task.value)
    rows = _rows(regional, scale)
    context = {
        "rows": rows[:_MOST_ROWS],
        "rows_left_out": count(len(rows) - _MOST_ROWS) if len(rows) > _MOST_ROWS else None,
        "folded": len(rows) > _MOST_OPEN,
        "level": f"{regional.estimate.level * 100:.4g}%",
        "noun": scale.noun,
        "errors_in": scale.unit_of_errors,
        "opening": _opening(regional.mixing, section, len(drawn.where)),
        "mixes_all": regional.mixing.mixes_all,
        "left_out": _left_out(regional.left_out),
        "slots": _slots(regional, section),
        "wider": _wider(drawn),
    }
    return Section(name="places", title="Estimates by place", context=context, charts=place_charts(drawn))


def _opening(mixing: Mixing, section: GroupsSection, places: int) -> str:
    """Whether places can be compared, by how much of a group's reports stays there."""
    if not mixing.displacement:
        return (
            f"No report leaves its sender\u2019s slot, so that {count_of(places, 'place', 'places')} can be compared."
        )
    if mixing.kept_uniform == 1:
        stays = "Everybody is in everybody\u2019s group, so that reports may land anywhere"
    else:
        stays = (
            f"Of the slots of a person\u2019s group, {percent(mixing.kept)} hold a report of the group, where a "
            f"uniform shuffle of everybody would leave {percent(mixing.kept_uniform)}"
        )
    if mixing.mixes_all:
        return (
            f"The shuffle mixes almost everybody with everybody. {stays}. Places can hardly be compared: what they "
            "have of their own is lost, all estimates are about that for everybody, and most of what differs is chance."
        )
    kept = (mixing.kept - mixing.kept_uniform) / (1 - mixing.kept_uniform)
    if kept < _FEW:
        return f"Few reports stay in their group. {stays}. {_landing(mixing, section)}"
    if kept < _MANY:
        return (
            f"Some reports stay in their group, so that {count_of(places, 'place', 'places')} can be compared with "
            f"care: they differ more than is seen here. {stays}."
        )
    return (
        f"Most reports stay near their senders, so that {count_of(places, 'place', 'places')} can be compared. {stays}."
    )


def _landing(mixing: Mixing, section: GroupsSection) -> str:
    """Over which ways differences are lost."""
    if mixing.distance is None or mixing.distance_90 is None:
        return (
            f"They land {number(mixing.displacement)} ranks away on average: estimates are averages over about so many "
            "people, and show only what differs between larger parts of the order."
        )
    unit = section.unit_of_distances
    return (
        f"Half of all land within {number(mixing.distance)}{unit}, nine of ten within {number(mixing.distance_90)}{unit}; "
        "the chart shows only what changes over longer ways than that."
    )


def _left_out(people: int) -> str:
    """That some places are not shown; "" if all are."""
    if not people:
        return ""
    are = "person is" if people == 1 else "people are"
    return f"{count(people)} {are} at places far from all others with too few people to show."


def _slots(regional: Regional, section: GroupsSection) -> str:
    """Which slots are in which place, where no public column beside the slot says it; "" where one does."""
    if regional.of_slot is None:
        return ""
    if "group" in (regional.estimate.where or ({},))[0]:
        kind = f"A place is here a group of {section.file}; whoever is in several counts for the largest of them."
    else:
        kind = "A place is here a stretch of the order in which people stand who have many groups in common."
    return f"{kind} The file places.csv says whose slot is in which of them: public information, as the groups are."


def _most_varied(regional: Regional, overall: Estimate, scale: Scale, column: str) -> PlacesDrawn:
    """The target whose estimates differ most between places, in units of their errors; of equals the rarest."""
    estimate, targets = regional.estimate, len(overall.target)
    by_place = estimate.estimate.reshape(-1, targets)
    errors = np.maximum(estimate.standard_error.reshape(-1, targets), 1e-300)
    apart = (((by_place - overall.estimate) / errors) ** 2).sum(axis=0)
    chosen = min(np.flatnonzero(apart >= apart.max() * (1 - 1e-9)), key=lambda each: float(overall.estimate[each]))
    margins = estimate.margin.reshape(-1, targets)[:, chosen]
    narrower = regional.unshuffled_error.reshape(-1, targets)[:, chosen] / errors[:, chosen]
    name = overall.target[chosen] if targets == 1 else f"{column}: {overall.target[chosen]}"
    return PlacesDrawn(
        name=name,
        measure="share of people" if scale.is_share else "mean",
        where=tuple(dict(place) for place in (estimate.where or ())[::targets]),
        estimate=scale.factor * by_place[:, chosen],
        margin=scale.factor * margins,
        unshuffled=scale.factor * margins * narrower,
        overall=scale.factor * float(overall.estimate[chosen]),
        people=regional.people,
        unit=scale.unit,
        bounds=None if scale.bounds is None else tuple(scale.factor * end for end in scale.bounds),
        level=f"{estimate.level * 100:.4g}%",
    )


def _wider(drawn: PlacesDrawn) -> str:
    """By how much shuffling widens a typical interval."""
    ratio = float(np.median(drawn.margin / np.maximum(drawn.unshuffled, 1e-300)))
    return (
        f"{ratio:.2f} times as wide as without shuffling" if ratio >= 1.005 else "hardly wider than without shuffling"
    )


def _rows(regional: Regional, scale: Scale) -> list[dict[str, str]]:
    estimate = regional.estimate
    unshuffled = replace(estimate, standard_error=regional.unshuffled_error).margin
    targets = max(1, len(estimate.target) // len(regional.people))
    return [
        {
            "place": place_name(place),
            "people": count(int(regional.people[number // targets])),
            "target": target,
            "estimate": scale.text(value),
            "lower": scale.text(low),
            "upper": scale.text(high),
            "unshuffled": f"\u00b1{scale.text(margin)}",
        }
        for number, (place, target, value, low, high, margin) in enumerate(
            zip(
                estimate.where or (),
                estimate.target,
                estimate.estimate,
                estimate.lower,
                estimate.upper,
                unshuffled,
                strict=True,
            )
        )
    ]
