"""Estimates by place after a shuffle near a reference order, in words."""

from dataclasses import replace

from shuffledp.core.estimates import Estimate
from shuffledp.core.text import count_of, percent
from shuffledp.documents.blocks import PAGE, TERMINAL, Picture, Role, Text, told
from shuffledp.documents.charts.place_charts import PlacesDrawn, every_place, place_charts, target_drawn
from shuffledp.documents.document import Place, Section
from shuffledp.documents.estimate_document import scale_of
from shuffledp.documents.words import Scale, count, number
from shuffledp.protocols.d_sigma.documents.sharpened_document import sharpened_blocks
from shuffledp.protocols.d_sigma.planning.group_mixing import Mixing
from shuffledp.protocols.d_sigma.survey.grouped_section import groups_of
from shuffledp.protocols.d_sigma.survey.groups import GroupsSection
from shuffledp.protocols.d_sigma.survey.regional_result import RegionalResult
from shuffledp.survey import ColumnOutcome

_MOST_TARGETS = 4  # number of targets that are drawn
_FEW, _MANY = 0.1, 0.5  # shares of a group's reports that stay there, beyond a uniform shuffle
_ALL = 0.9995  # the share of all from which on it is printed as 100%


def places_section(outcome: ColumnOutcome) -> Section | None:
    """Section of estimates by place: charts of the first targets, and a table of all; None without places."""
    regional, section = outcome.shuffle_result, groups_of(outcome.column.shuffler)
    if not isinstance(regional, RegionalResult) or section is None:
        return None
    scale, mixing = scale_of(outcome.release), regional.mixing
    panels, which = _drawn(outcome, regional, scale)
    drawn = panels[0]
    opening = _opening(mixing, section, len(drawn.where))
    wider = f"{drawn.widening:.2f} times as wide as" if drawn.widening >= 1.005 else "hardly wider than"
    error = regional.unshuffled_error if drawn.is_wider else None
    average = (
        "Each estimate is of the average answer that lies in the place\u2019s slots: that of the place itself, "
        "smoothed over where reports may land. Its interval covers randomizing and shuffling together, and is "
        f"typically {wider} without shuffling. Shares beyond 0% or 100%, as chance makes them of few people, are "
        "shown at that end; estimates.csv has them as they are."
    )
    blocks = (
        *told(_on_terminal(regional), on=TERMINAL),
        Text(opening, Role.DANGER if mixing.mixes_all else Role.PLAIN, on=PAGE),
        Text(f"{average} {_left_out(regional.left_out)}".rstrip(), on=PAGE),
        *told(_slots(regional, section), on=PAGE),
        *told(which, on=PAGE),
        *(
            Picture(chart, on=PAGE)
            for place, each in enumerate(panels, 1)
            for chart in place_charts(each, "places" if place == 1 else f"places-{place}")
        ),
        every_place(inside(regional.estimate), regional.people, scale, unshuffled_error=error),
        *sharpened_blocks(
            regional.sharpened, scale, outcome.column.value, outcome.release.estimate, _chosen(outcome)[0]
        ),
    )
    return Section(anchor="places", title="Estimates by place", blocks=blocks, place=Place.RESULTS)


def _drawn(outcome: ColumnOutcome, regional: RegionalResult, scale: Scale) -> tuple[list[PlacesDrawn], str]:
    """Charts of the chosen targets, and a note that names the targets; the choice ignores estimates.

    The note is "" if all targets are drawn.

    Of two answers one is drawn, since the other is what remains.
    """
    overall, (chosen, which) = outcome.release.estimate, _chosen(outcome)
    return [
        target_drawn(
            target,
            inside(regional.estimate),
            overall,
            scale,
            outcome.column.value,
            people=regional.people,
            unshuffled_error=regional.unshuffled_error,
        )
        for target in chosen
    ], which


def _chosen(outcome: ColumnOutcome) -> tuple[range, str]:
    """Range of the targets that the charts show, and a note that names them; "" if all are shown."""
    targets = len(outcome.release.estimate.target)
    if targets == 2:
        return range(1, 2), "Drawn is the second of the two answers; the table has both."
    if targets <= _MOST_TARGETS:
        return range(targets), ""
    note = f"Drawn are the first {_MOST_TARGETS} of {targets} answers, in the order of the task; the table has all."
    return range(_MOST_TARGETS), note


def inside(estimate: Estimate) -> Estimate:
    """Estimate with impossible values, such as shares below 0, replaced by the nearest possible values."""
    return replace(estimate, estimate=estimate.nearest)


def _on_terminal(regional: RegionalResult) -> str:
    """Sentence on the estimates by place and on people who are not shuffled."""
    mixing = regional.mixing
    found = [
        f"By place: {count_of(len(regional.people), 'place')}, {len(regional.estimate.target):,} further rows of "
        f"estimates.csv. Reports land {mixing.displacement:,.1f} ranks away on average; {mixing.kept:.1%} of a group's "
        "stay in it."
    ]
    if regional.of_slot is not None:
        found.append("places.csv says whose slot is in which place.")
    if regional.sharpened.estimate is not None:
        found.append(f"Sharpened for the people of {len(regional.sharpened.people):,} cells, in statement.json.")
    found.append(_left_out(regional.left_out))
    if mixing.num_alone:
        found.append(f"{mixing.num_alone:,} of {mixing.num_users:,} people are alone: not shuffled at all.")
    return " ".join(filter(None, found))


def _opening(mixing: Mixing, section: GroupsSection, places: int) -> str:
    """Sentence on whether places can be compared, from the share of reports that stay in their group."""
    compared = f"so that {count_of(places, 'place')} can be compared"
    if not mixing.displacement:
        return f"No report leaves its sender\u2019s slot, {compared}."
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
    if mixing.kept_uniform == 1:
        return f"{stays}. {_landing(mixing, section)}"
    if mixing.kept > _ALL:
        return f"Reports stay in their senders\u2019 groups, {compared}. {stays}."
    kept = (mixing.kept - mixing.kept_uniform) / (1 - mixing.kept_uniform)
    if kept < _FEW:
        return f"Few reports stay in their group. {stays}. {_landing(mixing, section)}"
    if kept < _MANY:
        return f"Some reports stay in their group, {compared} with care: they differ more than is seen here. {stays}."
    return f"Most reports stay near their senders, {compared}. {stays}."


def _landing(mixing: Mixing, section: GroupsSection) -> str:
    """Sentence on how far reports land from their places, and the limits of estimates."""
    if mixing.distance is None or mixing.distance_90 is None:
        return (
            f"They land {number(mixing.displacement)} ranks away on average: estimates are averages over about that "
            "number of people, and show only what differs between larger parts of the order."
        )
    unit = section.unit_of_distances
    return (
        f"Half of all land within {number(mixing.distance)}{unit}, nine of ten within "
        f"{number(mixing.distance_90)}{unit}; the chart shows only what changes over longer ways than that."
    )


def _left_out(people: int) -> str:
    """Sentence on the places that are not shown; "" if all are."""
    are = "person is" if people == 1 else "people are"
    return f"{count(people)} {are} at places far from all others with too few people to show." if people else ""


def _slots(regional: RegionalResult, section: GroupsSection) -> str:
    """Pointer to the file with each slot's place; "" if a public column already shows the place."""
    if regional.of_slot is None:
        return ""
    if "group" in (regional.estimate.where or ({},))[0]:
        kind = f"A place is here a group of {section.file}; whoever is in several counts for the largest of them."
    else:
        kind = "A place is here a stretch of the order in which people stand who have many groups in common."
    return f"{kind} The file places.csv says whose slot is in which of them: public information, as the groups are."
