"""What the shuffle did to groups: their sizes, where reports may land, what stays inside, who is not shuffled."""

import math

from shuffledp._numerals import in_digits
from shuffledp.accounting import ReidentificationBound
from shuffledp.accounting.theorems.d_sigma import d_sigma_of_local
from shuffledp.guarantees import DSigmaPrivacy
from shuffledp.report.parts import Section
from shuffledp.report.words import count, count_of, number, percent
from shuffledp.tasks import GroupsSection, Mixing, Outcome, Regional

__all__ = ["groups_section"]

_NONE = "\N{EN DASH}"
_CERTAIN = 0.9995


def groups_section(outcome: Outcome) -> Section | None:
    """Three shuffles side by side, and the odds of finding somebody's report; None without groups."""
    section, regional = outcome.task.groups, outcome.regional
    if section is None or regional is None:
        return None
    mixing = regional.mixing
    context = {
        "whom": section.words,
        "warning": mixing.warning,
        "sizes": _sizes(mixing),
        "alone": count(mixing.num_alone),
        "alone_share": percent(mixing.num_alone / mixing.num_users),
        "people": count(mixing.num_users),
        "rows": _rows(mixing, section, math.inf if outcome.seeded else _of_randomizing(outcome), seeded=outcome.seeded),
        "chosen": _chosen(mixing),
        "odds": _odds(regional) if not outcome.seeded else [],
        "why": _why(regional),
    }
    return Section(name="groups", title="Who is mixed with whom", context=context)


def _sizes(mixing: Mixing) -> str:
    """Groups and blocks in words."""
    groups = count_of(mixing.num_groups, "group", "groups")
    people = (
        f"{count(mixing.largest)} people each"
        if mixing.smallest == mixing.largest
        else f"{count(mixing.smallest)} to {count(mixing.largest)} people (median {count(mixing.median)})"
    )
    blocks = (
        "everybody is mixed in one block"
        if mixing.num_blocks == 1
        else f"there are {count(mixing.num_blocks)} blocks that never mix, the largest of {count(mixing.largest_block)}"
    )
    return (
        f"{groups} of {people}; {blocks}. The order has an exact "
        f"{mixing.sensitivity_distance.capitalize()} sensitivity of {count(mixing.sensitivity)}."
    )


def _rows(mixing: Mixing, section: GroupsSection, alone: float, *, seeded: bool) -> list[tuple[str, str, str, str]]:
    """What no shuffling, this shuffle and a uniform one do, line by line; ``alone`` is what randomizing loses."""
    rows: list[tuple[str, str, str, str]] = [
        ("Mean distance in the order, in ranks", "0", number(mixing.displacement), number(mixing.displacement_uniform)),
        ("Nine of ten reports land within, in ranks", "0", number(mixing.displacement_90), _NONE),
    ]
    if mixing.distance is not None and mixing.distance_90 is not None:
        unit = section.unit_of_distances
        rows += [
            ("Half of the reports land within", "0", f"{number(mixing.distance)}{unit}", _NONE),
            ("Nine of ten land within", "0", f"{number(mixing.distance_90)}{unit}", _NONE),
        ]
    rows += [
        (
            f"Share of a group\u2019s reports that stays ({mixing.how_kept})",
            "100%",
            percent(mixing.kept),
            percent(mixing.kept_uniform),
        ),
        ("The same in the group where it is least", "100%", percent(mixing.kept_least), _NONE),
        (
            "Loss of the order inside a group (alpha)",
            _loss(alone),
            "withdrawn" if seeded else _loss(min(alone, mixing.alpha)),
            _NONE if seeded else "0",
        ),
    ]
    return rows


def _of_randomizing(outcome: Outcome) -> float:
    """The loss of the order inside a group if nothing is shuffled."""
    stated = d_sigma_of_local(outcome.model)
    guarantee = None if stated is None else stated.guarantee
    return guarantee.alpha if isinstance(guarantee, DSigmaPrivacy) else math.inf


def _loss(alpha: float) -> str:
    return "infinite" if math.isinf(alpha) else number(alpha, "at most")


def _chosen(mixing: Mixing) -> str:
    """What an automatic choice chose from."""
    if len(mixing.compared) < 2:
        return ""
    others = ", ".join(f"{kind} {number(ranks)}" for kind, ranks in mixing.compared.items())
    return f"The shuffle was chosen for displacing least, in ranks on average: {others}."


def _odds(regional: Regional) -> list[tuple[str, str]]:
    """Whose report is found with which chance, those whom the shuffle hides least first."""
    found = []
    if regional.mixing.num_alone:
        people = count_of(regional.mixing.num_alone, "person who is", "people who are")
        found.append((f"The {people} alone: the report stays in its slot", "100%"))
    smallest, largest, near = regional.hidden_by_smallest, regional.hidden_by_group, regional.hidden_by_all
    if smallest is not None:
        which = "smallest of the others" if regional.mixing.num_alone else "smallest"
        found.append((f"Somebody whose group is the {which}: {count(smallest.group_size)} people", _chance(smallest)))
    if largest is not None:
        found.append((f"Somebody whose group is the largest: {count(largest.group_size)} people", _chance(largest)))
    if near is not None:
        found.append(("Somebody in the middle of the order, hidden by everybody nearby too", _chance(near)))
    return found if largest is not None else []


def _chance(bound: ReidentificationBound) -> str:
    """The probability, or that none below certainty can be promised."""
    return "nothing is promised" if bound.success > _CERTAIN else f"at most {percent(bound.success, 'at most')}"


def _why(regional: Regional) -> str:
    """What gives a report away, in words; "" where no theorem says."""
    bound = regional.hidden_by_group
    if bound is None:
        return ""
    larger = {
        "values": "what is reported counts for more.",
        "order": "where it lies counts for more.",
        "neither": "both count for the same.",
    }[bound.dominates]
    return (
        f"What is reported may multiply the odds of a right guess by e^{in_digits(bound.from_values, 'at most')} "
        f"(twice epsilon0 in the exponent), and where it lies by e^{in_digits(bound.from_order, 'at most')} (alpha, "
        f"inside a group); {larger}"
    )
