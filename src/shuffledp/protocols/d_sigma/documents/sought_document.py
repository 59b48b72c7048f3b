"""Settings that meet what is wanted, in words: what to take, what is impossible and why, and the lines of the task."""

from collections.abc import Iterable, Iterator

from shuffledp.core.text import count_of, in_digits, percent
from shuffledp.documents.blocks import Block, Column, Role, Table, Text, told
from shuffledp.documents.document import Document, Promise, Section
from shuffledp.protocols.d_sigma.documents.exploration_document import NO_LEAK, task_lines
from shuffledp.protocols.d_sigma.planning.personal_promises import WEAK
from shuffledp.protocols.d_sigma.planning.wanted_settings import Wanted
from shuffledp.protocols.d_sigma.survey.groups import GroupsSection
from shuffledp.protocols.d_sigma.survey.groups_sought import GroupsSought, Sought

_OPTIONS = {
    "slot_chance": "--slot-chance",
    "epsilon": "--epsilon",
    "household": "--household",
    "blur": "--blur",
    "stays_in_group": "--stays-in-group",
}
_LARGE = 1000
_NEARLY_ALL = 0.8  # of a uniform shuffle's displacement


def sought_document(sought: GroupsSought, *, name: str, digest: str, groups: GroupsSection) -> Document:
    """Setting that meets the requirements, or the reason why none does; then each mechanism and reach with its limits.

    Args:
        sought: the result.
        name: of the task.
        digest: of the task.
        groups: the table ``[groups]`` of the task.
    """
    people = count_of(sought.num_users, "person", "people")
    table = (_table(sought, groups),)
    return Document(
        title=name,
        digest=digest,
        promise=Promise(
            title="Settings for what is wanted",
            facts=(f"{people}, each epsilon0 = {sought.epsilon0:g}",),
            headline=tuple(_answer(sought, groups)),
        ),
        sections=(Section(anchor="sought", title="All that was tried", blocks=table),),
    )


def wanted_in_words(wanted: Wanted) -> str:
    """All that is wanted, in a sentence without its end."""
    parts = []
    if wanted.slot_chance is not None:
        parts.append(f"nobody names the slot of a report with a chance above {percent(wanted.slot_chance)}")
    if wanted.epsilon is not None:
        parts.append(f"nobody loses more than epsilon = {wanted.epsilon:g}")
    if wanted.household is not None and wanted.chance is not None:
        parts.append(
            f"more than half of a household of {wanted.household} is found at most with {percent(wanted.chance)}"
        )
    if wanted.blur is not None:
        parts.append(f"reports land at most {wanted.blur:g} ranks away on average")
    if wanted.stays_in_group is not None:
        parts.append(f"{percent(wanted.stays_in_group)} of a group\u2019s slots keep a report of the group")
    return "; ".join(parts)


def _answer(sought: GroupsSought, groups: GroupsSection) -> Iterator[Block]:
    yield Text(f"Wanted: {wanted_in_words(sought.wanted)}.", Role.LEAD)
    if sought.best is None:
        yield from told(f"No setting here meets that. {_blamed(sought)}", role=Role.DANGER)
        return
    best = sought.found[sought.best]
    setting, limits = best.setting, best.limits
    moved, kept = best.displacement or 0.0, best.kept or 0.0
    yield Text(
        f"Take {setting.mechanism} with alpha = {_number(setting.alpha)}{_reach(best, groups)}: a report lands "
        f"{moved:,.1f} ranks away on average of {sought.num_users:,}, and {percent(kept)} of a group\u2019s slots keep "
        "a report of the group."
    )
    yield from told(*_promised(best), *_left_out(best, sought), NO_LEAK * (kept >= 1 and sought.wanted.hides))
    if limits.at_most and moved > _NEARLY_ALL * sought.num_users / 3:
        yield from told(
            "That is nearly a uniform shuffle of everybody: what hides people so well leaves no map. "
            f"{_rule(best, setting.alpha or 0.0, sought)} Take smaller groups, or the uniform shuffle, whose guarantee "
            "is stronger.",
            role=Role.DANGER,
        )
    yield from told("For the task file:", *(f"  {line}" for line in task_lines(setting, groups)), role=Role.PATH)


def _rule(one: Sought, alpha: float, sought: GroupsSought) -> str:
    """The rule of thumb about displacement, with the numbers of a setting."""
    largest = one.setting.largest
    moved = min(largest**2 / (2 * max(alpha, 1e-9)), sought.num_users / 3)
    return (
        "Every pure shuffle of groups of g people moves reports by about g^2 / (2 alpha) ranks, up to a third of all: "
        f"{largest:,} people and alpha {_number(alpha)} make {moved:,.0f} of {sought.num_users:,}."
    )


def _promised(best: Sought) -> Iterator[str]:
    """Promises of a setting; weak ones are called weak."""
    promises = best.promises
    if promises is None:
        return
    weak = " This is a weak promise." * (promises.named.most > WEAK)
    yield (
        "One report: somebody who knows all answers names its slot at most with "
        f"{percent(promises.named.most, 'at most')} (half of the people: {percent(promises.named.half, 'at most')})."
        f"{weak}"
    )
    for size, spread in promises.households.items():
        weak = " This is a weak promise." * (spread.most > WEAK)
        yield (
            f"A household of {size}: more than half of its slots are found at most with "
            f"{percent(spread.most, 'at most')} (half of the people: {percent(spread.half, 'at most')}).{weak}"
        )
    yield (
        f"Central epsilon: at most {in_digits(promises.central.most, 'at most')} for the least hidden person, "
        f"{in_digits(promises.central.half, 'at most')} for half of the people."
    )


def _left_out(best: Sought, sought: GroupsSought) -> Iterator[str]:
    """People for whom nothing would do."""
    for name, count in best.limits.impossible.items():
        crowd = ""
        if name == "slot_chance" and sought.crowd:
            crowd = f" It takes {sought.crowd:,.0f} others who hide a report fully."
        yield (
            f"For {count:,} of {sought.num_users:,} people {_OPTIONS[name]} is impossible whatever alpha is: they are "
            f"in blocks of too few people, or alone.{crowd} Leave them out, or join them to others; the limits are "
            "those of the rest."
        )


def _blamed(sought: GroupsSought) -> str:
    """The requirement to blame, from the setting that came nearest."""
    nearest = min(sought.found, key=lambda each: (len(each.limits.out_of_reach), _gap(each)))
    limits = nearest.limits
    if limits.out_of_reach:
        said = f"{' and '.join(_OPTIONS[name] for name in limits.out_of_reach)} cannot be met at any alpha."
        if "slot_chance" in limits.out_of_reach and sought.crowd is not None:
            said += (
                f" To name a report so seldom takes {sought.crowd:,.0f} others who hide it fully, e^(2 epsilon0) "
                "(1 - p) / p, and no block has so many."
            )
            if sought.epsilon0_least is not None:
                said += f" With epsilon0 = {sought.epsilon0_least:.2g} a uniform shuffle of everybody would do."
        return said
    hiding, high = min(limits.at_most.items(), key=lambda each: each[1])
    keeping, low = max(limits.at_least.items(), key=lambda each: each[1])
    return (
        f"{_OPTIONS[hiding]} needs alpha of at most {_number(high)}, and {_OPTIONS[keeping]} one of at least "
        f"{_number(low)}, by {nearest.setting.mechanism}, which comes nearest. {_rule(nearest, high, sought)} Take "
        "smaller groups, a smaller epsilon0, or ask for less."
    )


def _gap(each: Sought) -> float:
    """Ratio of the alpha that keeping needs to the one that hiding allows."""
    high = min(each.limits.at_most.values(), default=1.0)
    return max(each.limits.at_least.values(), default=0.0) / high


def _table(sought: GroupsSought, groups: GroupsSection) -> Table:
    key = "radius" if groups.radius is not None else "neighbors" if groups.neighbors is not None else "reach"
    heads = (
        Column("mechanism", left=True),
        Column(key),
        Column("hides up to\nalpha"),
        Column("keeps from\nalpha"),
        Column("ranks\nmoved"),
        Column("stays in\ngroup"),
        Column("named\nmost"),
        Column("impossible\nfor"),
    )
    rows = tuple(tuple(_row(each)) for each in sought.found)
    own = frozenset() if sought.best is None else frozenset({sought.best})
    return Table("All that was tried", heads, rows, own=own, titled=False)


def _row(each: Sought) -> Iterable[str]:
    limits, promises = each.limits, each.promises
    never = "never" if limits.out_of_reach else ""
    return (
        each.setting.mechanism,
        "" if each.setting.reach is None else f"{each.setting.reach:g}",
        never or (_number(min(limits.at_most.values())) if limits.at_most else "any"),
        never or (_number(max(limits.at_least.values())) if limits.at_least else "any"),
        "" if each.displacement is None else f"{each.displacement:,.0f}",
        "" if each.kept is None else percent(each.kept),
        "" if promises is None else percent(promises.named.most, "at most"),
        f"{max(limits.impossible.values(), default=0):,}",
    )


def _reach(best: Sought, groups: GroupsSection) -> str:
    if best.setting.reach is None:
        return ""
    return f" and {'radius' if groups.radius is not None else 'neighbors'} = {best.setting.reach:g}"


def _number(alpha: float | None) -> str:
    value = alpha or 0.0
    return f"{value:,.0f}" if value >= _LARGE else f"{value:.4g}"
