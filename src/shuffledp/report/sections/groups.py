"""What the shuffle did to groups: their sizes, where reports may land, what stays inside, who is not shuffled."""

from shuffledp.accounting import ReidentificationBound
from shuffledp.report.parts import Section
from shuffledp.report.words import count, count_of, number, percent
from shuffledp.tasks import GroupsSection, Mixing, Outcome

__all__ = ["groups_section"]

_NONE = "\N{EN DASH}"


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
        "rows": _rows(mixing, section),
        "chosen": _chosen(mixing),
        "odds": _odds(regional.hidden_by_group, regional.hidden_by_all) if not outcome.seeded else [],
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
    return f"{groups} of {people}; {blocks}. The order has an exact sensitivity of {count(mixing.sensitivity)}."


def _rows(mixing: Mixing, section: GroupsSection) -> list[tuple[str, str, str, str]]:
    """What no shuffling, this shuffle and a uniform one do, line by line."""
    rows: list[tuple[str, str, str, str]] = [
        ("Mean distance in the order, in ranks", "0", number(mixing.displacement), number(mixing.displacement_uniform)),
        ("Nine of ten reports land within, in ranks", "0", number(mixing.displacement_90), _NONE),
    ]
    if mixing.distance is not None and mixing.distance_90 is not None:
        unit = section.unit or f" ({', '.join(section.columns)})"
        rows += [
            ("Half of the reports land within", "0", f"{mixing.distance:.3g}{unit}", _NONE),
            ("Nine of ten land within", "0", f"{mixing.distance_90:.3g}{unit}", _NONE),
        ]
    rows += [
        (
            f"Share of a group\u2019s reports that stays ({mixing.how_kept})",
            "100%",
            percent(mixing.kept),
            percent(mixing.kept_uniform),
        ),
        ("The same in the group where it is least", "100%", percent(mixing.kept_least), _NONE),
        ("Loss of the order inside a group (alpha)", "infinite", number(mixing.alpha, "at most"), "0"),
    ]
    return rows


def _chosen(mixing: Mixing) -> str:
    """What an automatic choice chose from."""
    if len(mixing.compared) < 2:
        return ""
    others = ", ".join(f"{kind} {number(ranks)}" for kind, ranks in mixing.compared.items())
    return f"The shuffle was chosen for displacing least, in ranks on average: {others}."


def _odds(by_group: ReidentificationBound | None, by_all: ReidentificationBound | None) -> list[str]:
    """The odds of Theorem 4.2, as printed and refined."""
    found = [("one of the largest group, counting that group only", by_group)]
    found.append(("a person in the middle of the order, counting everybody nearby", by_all))
    return [f"For {who}: {bound}" for who, bound in found if bound is not None]
