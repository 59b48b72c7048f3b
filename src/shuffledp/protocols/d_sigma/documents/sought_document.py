"""Settings that meet given requirements, in words: the choice, impossible settings, and task lines."""

from collections.abc import Iterable, Iterator, Sequence

from shuffledp.core.text import count_of, in_digits, percent
from shuffledp.documents.blocks import Block, Column, Role, Table, Text, told
from shuffledp.documents.document import Document, Promise, Section
from shuffledp.protocols.d_sigma.documents.exploration_document import NO_LEAK, task_lines
from shuffledp.protocols.d_sigma.documents.promises_document import chance_at_most
from shuffledp.protocols.d_sigma.planning.personal_promises import WEAK
from shuffledp.protocols.d_sigma.planning.wanted_settings import LEAST_ALPHA, Requirements
from shuffledp.protocols.d_sigma.survey.groups import GroupsSection
from shuffledp.protocols.d_sigma.survey.pilot_results import GAUSSIAN, Setting
from shuffledp.protocols.d_sigma.survey.settings_search import FoundSetting, GroupsSought, LeftOut

_OPTIONS = {
    "slot_chance": "--slot-chance",
    "epsilon": "--epsilon",
    "household": "--household",
    "blur": "--blur",
    "stays_in_group": "--stays-in-group",
}
_LARGE = 1000
_MOST_NAMED = 6  # places
_RULE_OF_CHOICE = (
    "How this row was chosen. First come the rows with the smallest number in the last column, and of them those of "
    "your own groups (a shuffle for other groups promises nothing about the order inside yours). A row is dropped if "
    "another one of these is no worse in ranks moved, in what stays and in the chance of being named, and better in "
    "one of them. Rows that move reports at most 15% farther than the least are then taken as equal, and of them the "
    "one without a delta and with the smallest alpha is chosen. Where you ask for nothing to be hidden, the row that "
    "hides reports best is chosen instead."
)
_NEARLY_ALL = 0.8  # of a uniform shuffle's displacement


def sought_document(sought: GroupsSought, *, name: str, digest: str, groups: GroupsSection) -> Document:
    """Page with the setting that meets the requirements, or the reason for none, and a table of limits.

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


def wanted_in_words(wanted: Requirements) -> str:
    """Requirements in words, as a list of clauses for use inside a sentence."""
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
        f"{moved:,.1f} ranks away on average of {sought.num_users:,}; {_kept(best, sought, groups)}."
    )
    yield from told(
        *_left_out(best, sought, groups),
        *_promised(best, sought),
        _beside_the_order(setting, sought),
        NO_LEAK * (kept >= 1 and moved >= 1 and (sought.wanted.hides or setting.alpha == 0)),
        _learned(best, sought),
        _RULE_OF_CHOICE * (len(sought.found) > 1),
    )
    if limits.at_most and moved > _NEARLY_ALL * sought.num_users / 3:
        yield from told(
            "That is nearly a uniform shuffle of everybody: what hides people so well leaves no map. "
            f"{_rule(best, setting.alpha or 0.0, sought)} Take smaller groups, or the uniform shuffle, whose guarantee "
            "is stronger.",
            role=Role.DANGER,
        )
    yield from told("For the task file:", *(f"  {line}" for line in task_lines(setting, groups)), role=Role.PATH)


def _kept(best: FoundSetting, sought: GroupsSought, groups: GroupsSection) -> str:
    """Words on the share of reports that stay in their group, for the task's groups and the setting's."""
    there = "" if sought.chosen is None else percent(sought.chosen.kept_there)
    reach = _own_reach(groups)
    if best.setting.reach is None or f"{best.setting.reach:g}" == reach:
        return f"{there} of a group\u2019s slots keep a report of the group"
    key = _key(groups)
    return (
        f"{percent(best.kept or 0.0)} of the slots of your groups ({key} = {reach}) keep a report of the group, and "
        f"{there} of those of {key} = {best.setting.reach:g}"
    )


def _learned(best: FoundSetting, sought: GroupsSought) -> str:
    """Sentence on the expected error of an estimate by group, and on flattened differences between groups."""
    chosen, kept = sought.chosen, best.kept or 0.0
    if chosen is None or chosen.error is None:
        return ""
    flat = ""
    if kept < 1:
        flat = (
            f" {percent(kept)} of it are the group\u2019s own answers, the rest those of people nearby: a difference "
            "between places that is no wider than reports move looks that much smaller. `shuffledp explore` shows by "
            "example how much of a trend is left."
        )
    return (
        f"What can be learned: an estimate for one of your groups ({count_of(chosen.median, 'person', 'people')} for "
        f"half of the people, or fewer) has a standard error of {in_digits(chosen.error, 'at most')} from "
        f"randomizing alone.{flat}"
    )


def _key(groups: GroupsSection) -> str:
    return "radius" if groups.radius is not None else "neighbors"


def _own_reach(groups: GroupsSection) -> str:
    reach = groups.radius if groups.radius is not None else groups.neighbors
    return "" if reach is None else f"{reach:g}"


def _beside_the_order(setting: Setting, sought: GroupsSought) -> str:
    """Remark that a large alpha hides the order no better than randomizing; "" for smaller alphas."""
    alone = sought.epsilon0 * setting.largest
    if (setting.alpha or 0.0) <= alone:
        return ""
    return (
        f"About the order inside groups so large an alpha promises nothing beyond randomizing ({_number(alone)} for "
        f"{setting.largest:,} people at epsilon0 each), and a plan says so; what is promised of slots and reports, as "
        "above, comes from how far reports move."
    )


def _rule(one: FoundSetting, alpha: float, sought: GroupsSought) -> str:
    """Rule of thumb about the displacement of reports, with the numbers of a setting."""
    largest = one.setting.largest
    moved = min(largest**2 / (2 * max(alpha, 1e-9)), sought.num_users / 3)
    return (
        "Every pure shuffle of groups of g people moves reports by about g^2 / (2 alpha) ranks, up to a third of all: "
        f"{largest:,} people and alpha {_number(alpha)} make {moved:,.0f} of {sought.num_users:,}."
    )


def _promised(best: FoundSetting, sought: GroupsSought) -> Iterator[str]:
    """Sentences on the promises of a setting; weak promises are called weak."""
    promises = best.promises
    if promises is None:
        return
    named = promises.named
    if sought.chosen is not None and sought.chosen.named is not None:
        named = sought.chosen.named
    rest = " of the rest" * (best.num_impossible > 0)
    beyond = f" Of everybody: {chance_at_most(promises.named.most)}." * (promises.named.most > named.most)
    weak = " This is a weak promise." * (named.most > WEAK)
    yield (
        f"One report{rest}: somebody who knows all answers names its slot at most with "
        f"{chance_at_most(named.most)} (half of these people: {chance_at_most(named.half)}).{weak}{beyond}"
    )
    for size, spread in promises.households.items():
        weak = " This is a weak promise." * (spread.most > WEAK)
        whose = f"A household of {size}"
        if best.limits.impossible.get("household"):
            whose = f"In the rest a household of {size} is found as seldom as wanted. One of everybody"
        yield (
            f"{whose}: more than half of its slots are found at most with "
            f"{chance_at_most(spread.most)} (half of the people: {chance_at_most(spread.half)}).{weak}"
        )
    if sought.one_of_several:
        yield (
            "This is about each report by itself, of the column with the largest epsilon0, whose reports are hidden "
            "least. What a person loses by all columns together adds up: `plan` without this says to what."
        )
        return
    yield (
        f"Central epsilon: at most {in_digits(promises.central.most, 'at most')} for the least hidden person, "
        f"{in_digits(promises.central.half, 'at most')} for half of the people."
    )


def _left_out(best: FoundSetting, sought: GroupsSought, groups: GroupsSection) -> Iterator[str]:
    """Sentences on people for whom a requirement is impossible at any alpha, and their places."""
    for name, number in best.limits.impossible.items():
        crowd = ""
        if name == "slot_chance" and sought.crowd:
            crowd = f" It takes {_many(sought.crowd)} others who hide a report fully."
        where = "" if name != "slot_chance" or sought.chosen is None else _where(sought.chosen.left_out, groups)
        yield (
            f"For {number:,} of {sought.num_users:,} people {_OPTIONS[name]} is impossible whatever alpha is: they are "
            f"in blocks of too few people, or alone.{crowd} Leave them out, or join them to others{where}; the limits "
            "are those of the rest."
        )


def _where(left_out: Sequence[LeftOut], groups: GroupsSection) -> str:
    """Places, labels or row numbers of the first people who are left out, in brackets; "" for none."""

    def named_by(each: LeftOut) -> str:
        if each.label is not None:
            return f"{groups.column} {each.label} ({each.people:,})"
        if not each.at:
            return f"row {each.row}"
        at = ", ".join(f"{name} {value:g}" for name, value in zip(groups.columns, each.at, strict=True))
        return f"{at} ({each.people:,})"

    named = [named_by(each) for each in left_out[:_MOST_NAMED]]
    more = len(left_out) - len(named)
    further = f"; and {more:,} more, in `--json`" if more else ""
    return f" ({'; '.join(named)}{further})" if named else ""


def _many(people: float) -> str:
    """Number of people in digits; in powers of ten if it exceeds the number of people on earth."""
    return f"{people:,.0f}" if people < 1e10 else f"{people:.2g}"


def _blamed(sought: GroupsSought) -> str:
    """Sentences on the requirement that fails, for the setting nearest to all requirements."""
    nearest = min(sought.found, key=lambda each: (len(each.limits.out_of_reach), _gap(each)))
    limits = nearest.limits
    if limits.out_of_reach:
        said = f"{' and '.join(_OPTIONS[name] for name in limits.out_of_reach)} cannot be met at any alpha."
        if "slot_chance" in limits.out_of_reach and sought.crowd is not None:
            said = f"{said[:-1]}: to name a report so seldom takes {_many(sought.crowd)} others who hide it fully, "
            said += "e^(2 epsilon0) (1 - p) / p, and "
            if limits.impossible.get("slot_chance", 0) == sought.num_users:
                said += "no block has so many."
            else:
                said += (
                    "some blocks have hardly more. All of such a block hide a report fully with alpha = 0 alone, a "
                    "uniform shuffle inside each block; with alpha from 1/64 on, which was tried, they do not."
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


def _gap(each: FoundSetting) -> float:
    """Ratio of the least alpha for preservation to the largest alpha for hiding."""
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
        Column(f"stays in\n{_key(groups)} {reach}" if (reach := _own_reach(groups)) else "stays in\ngroup"),
        Column("named\nmost"),
        Column("impossible\nfor"),
    )
    rows = tuple(tuple(_row(each)) for each in sought.found)
    own = frozenset() if sought.best is None else frozenset({sought.best})
    return Table("All that was tried", heads, rows, own=own, titled=False, closing=_never(sought))


def _never(sought: GroupsSought) -> str:
    """Reason why a row of the table is impossible; "" if it is possible."""
    lost = [each for each in sought.found if each.limits.out_of_reach]
    if not lost:
        return ""
    names = dict.fromkeys(_OPTIONS[name] for each in lost for name in each.limits.out_of_reach)
    rounded = any(each.setting.mechanism == GAUSSIAN for each in lost)
    tried = " from 1/64 on" * (len(sought.found) > 1)
    just = any(sought.num_users - each.num_impossible > 0 for each in lost) and len(sought.found) > 1
    return (
        f"never: no alpha{tried} meets {' and '.join(names)} for all to whom it is possible"
        + just * "; people in blocks just large enough are hidden so well with alpha = 0 alone"
        + rounded * "; with Gaussian noise chances are known rounded up, so that blocks just large enough miss it"
    )


def _row(each: FoundSetting) -> Iterable[str]:
    limits, promises = each.limits, each.promises
    never = "never" if limits.out_of_reach else ""
    least = max(limits.at_least.values(), default=0.0)
    return (
        each.setting.mechanism,
        "" if each.setting.reach is None else f"{each.setting.reach:g}",
        never or (_number(min(limits.at_most.values())) if limits.at_most else "any"),
        never or (_number(least) if least > LEAST_ALPHA else "any"),
        "" if each.displacement is None else f"{each.displacement:,.0f}",
        "" if each.kept is None else percent(each.kept),
        "" if promises is None else chance_at_most(promises.named.most),
        f"{each.num_impossible:,}",
    )


def _reach(best: FoundSetting, groups: GroupsSection) -> str:
    if best.setting.reach is None:
        return ""
    return f" and {'radius' if groups.radius is not None else 'neighbors'} = {best.setting.reach:g}"


def _number(alpha: float | None) -> str:
    value = alpha or 0.0
    return f"{value:,.0f}" if value >= _LARGE else f"{value:.4g}"
