"""Mixing of groups by a shuffle near a reference order, in words."""

import math
from collections.abc import Iterable, Sequence

from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.guarantees import DSigmaPrivacy
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.text import count_of, in_digits, percent
from shuffledp.documents.blocks import DETAIL, PAGE, Block, Cell, Column, Role, Table, Text, told
from shuffledp.documents.document import Section
from shuffledp.documents.family_document import FamilyDocument
from shuffledp.documents.words import NOTHING, count, number
from shuffledp.planning.mechanism_choice import ExpectedError, expected_error
from shuffledp.protocols.d_sigma.documents.place_document import places_section
from shuffledp.protocols.d_sigma.documents.promises_document import promised
from shuffledp.protocols.d_sigma.planning.group_mixing import GroupsPlan, Mixing, slots_still_hide
from shuffledp.protocols.d_sigma.planning.sharpened_cells import SharpenedCells
from shuffledp.protocols.d_sigma.survey.grouped_section import groups_of
from shuffledp.protocols.d_sigma.survey.groups import GroupsSection
from shuffledp.protocols.d_sigma.survey.regional_result import RegionalResult
from shuffledp.protocols.d_sigma.theorems.meehan22 import ReidentificationBound, d_sigma_of_local
from shuffledp.survey import ColumnOutcome, Plan

_CERTAIN = 0.9995
_WHOLE = 1000  # ranks from which on decimals are left out


class GroupsDocument(FamilyDocument):
    """Parts of pages about groups and places."""

    def release_sections(self, outcome: ColumnOutcome) -> Iterable[Section | None]:
        """Sections on the estimates by place, and on who is mixed with whom."""
        return places_section(outcome), groups_section(outcome)

    def plan_sections(self, plan: Plan) -> Iterable[Section]:
        """Section on how the groups of an input are mixed."""
        groups = groups_of(plan.task.shuffler)
        if isinstance(plan.of_shuffle, GroupsPlan) and groups is not None:
            models = [column.model for column in plan.columns]
            yield groups_plan_section(plan.of_shuffle, groups, models)


def groups_plan_section(plan: GroupsPlan, section: GroupsSection, models: Sequence[ProtocolModel]) -> Section:
    """Section on groups in a plan: sizes and order, then the effect of other losses and other groups."""
    own = plan.mixing
    blocks: list[Block] = [
        Text(f"Groups: {section.words}.", Role.HEADING),
        *_sentences(own, section),
        *([] if plan.promises is None else promised(plan.promises)),
        *told("" if plan.promises is None else slots_still_hide(plan.promises.named, models)),
        *told(*_errors(plan, models)),
        _table_of_losses("alpha", [(f"{each.alpha:.4g}", each) for each in plan.by_alpha], own, section),
    ]
    if plan.by_reach:
        reaches = [(f"{each.value:.4g}", each.mixing) for each in plan.by_reach]
        own_value = section.radius if section.radius is not None else section.neighbors
        rows = sorted([*reaches, (f"{own_value:.4g}", own)], key=lambda row: float(row[0]))
        blocks.append(_table_of_losses(plan.by_reach[0].key, rows, own, section))
    return Section(anchor="groups", title="Who is mixed with whom", blocks=tuple(blocks))


def _errors(plan: GroupsPlan, models: Sequence[ProtocolModel]) -> Iterable[str]:
    """Sentences on the expected error of an estimate by group, and of a sharpened estimate."""
    own, cells = plan.mixing, plan.sharpened
    sizes = {"the smallest group": own.smallest, "the median one": own.median, "the largest": own.largest}
    different = list(dict.fromkeys(models))
    for model in different:
        try:
            errors = {people: expected_error(model.local, people) for people in (*sizes.values(), *_people(cells))}
        except UnsupportedModelError:  # of open answers
            continue
        each = [f"{_error(errors[people])} in {name} ({count(people)})" for name, people in sizes.items()]
        blurred = " Reports that land in a group\u2019s slots from elsewhere blur it besides." * (own.kept < 1)
        at = errors[own.median].at
        which = f" at epsilon0 = {model.local.epsilon0:g}" * (len(different) > 1)
        yield f"Standard error by group, of {at}{which}: {', '.join(each)}, from randomizing alone.{blurred}"
        if cells is not None:
            stretched = cells.error(errors[cells.people])
            yield (
                f"A release also sharpens: joined places of {count(cells.people)} people or more (two mean "
                "displacements), without blur, with a standard error of about "
                f"{in_digits(stretched, 'at most')} where it is largest."
            )


def _people(cells: SharpenedCells | None) -> tuple[int, ...]:
    return () if cells is None else (cells.people,)


def _error(error: ExpectedError) -> str:
    return in_digits(error.standard_error, "at most")


def groups_section(outcome: ColumnOutcome) -> Section | None:
    """Section that compares three shuffles, and gives the odds of finding a person's report; None without groups."""
    section, regional = groups_of(outcome.column.shuffler), outcome.shuffle_result
    if section is None or not isinstance(regional, RegionalResult):
        return None
    mixing = regional.mixing
    blocks = (
        *told(*regional.warnings(outcome.model), role=Role.DANGER),
        *told(slots_still_hide(regional.hidden.named, [outcome.model])),
        Text(f"A person\u2019s group is {section.words}. {_sizes(mixing)} {_order(mixing)}", on=PAGE),
        _alone(mixing),
        _table_of_shuffles(outcome, mixing, section),
        *told(_chosen(mixing), on=PAGE),
        *([] if outcome.seeded else (*_losses_by_size(regional), *_odds(regional), *_common_answers(regional))),
    )
    return Section(anchor="groups", title="Who is mixed with whom", blocks=blocks)


def _sentences(mixing: Mixing, section: GroupsSection) -> tuple[Text, ...]:
    """Sentences on group sizes, the reference order and the displacement of reports."""
    alone = ""
    if mixing.num_alone:
        alone = f" {mixing.num_alone:,} are alone in a block: their reports are not shuffled at all."
    landing = (
        f"A report lands {mixing.displacement:,.1f} ranks away on average, nine of ten within "
        f"{mixing.displacement_90:,.0f}; {mixing.displacement_uniform:,.0f} would be a uniform shuffle."
    )
    if mixing.distance is not None and mixing.distance_90 is not None:
        unit = section.unit_of_distances
        near, far = (f"{in_digits(value, '')}{unit}" for value in (mixing.distance, mixing.distance_90))
        landing += f" Half land within {near}, nine of ten within {far}."
    kept = (
        f"Of the slots of a group, {mixing.kept:.1%} hold a report of the group on average (least "
        f"{mixing.kept_least:.1%}; {mixing.kept_uniform:.1%} after a uniform shuffle of everybody; {mixing.how_kept})."
    )
    order = f"{_order(mixing)} It is shuffled by {mixing.kind}."
    return (*told(f"{_sizes(mixing)}{alone}", landing, kept), *told(order, _chosen(mixing), on=DETAIL))


def _sizes(mixing: Mixing) -> str:
    """Sentence on the sizes of groups and blocks."""
    blocks = f"there are {count(mixing.num_blocks)} blocks that never mix, the largest of {count(mixing.largest_block)}"
    if mixing.num_blocks == 1:
        blocks = "everybody is mixed in one block"
    return (
        f"{count_of(mixing.num_groups, 'group')} of {count(mixing.smallest)} to {count(mixing.largest)} people (median "
        f"{count(mixing.median)}); {blocks}."
    )


def _order(mixing: Mixing) -> str:
    distance = mixing.sensitivity_distance.capitalize()
    return f"The order found has an exact {distance} sensitivity of {count(mixing.sensitivity)}."


def _chosen(mixing: Mixing) -> str:
    """Sentence on the options of an automatic choice of mechanism."""
    if len(mixing.compared) < 2:
        return ""
    compared = ", ".join(f"{kind} {ranks:,.1f}" for kind, ranks in mixing.compared.items())
    return f"Chosen because it displaces least, in ranks on average: {compared}."


def _table_of_losses(key: str, rows: Sequence[tuple[str, Mixing]], own: Mixing, section: GroupsSection) -> Table:
    """Table of the mixing for other values of ``key``, in 80 columns.

    Numbers that are too long wrap to the next line.
    """
    unit = "ranks" if own.distance_90 is None else section.unit.strip() or ", ".join(section.columns)
    heads = (key, "largest\ngroup", "sensi-\ntivity", "ranks\nmoved", f"90% within\n{unit}", "stays in\ngroup", "alone")
    cells = tuple(
        (
            f"{value} (yours)" if each is own else value,
            f"{each.largest:,}",
            f"{each.sensitivity:,}",
            f"{each.displacement:,.{int(each.displacement < _WHOLE)}f}{' all' if each.mixes_all else ''}",
            f"{each.displacement_90:,.0f}" if each.distance_90 is None else in_digits(each.distance_90, ""),
            f"{each.kept:.1%}",
            f"{each.num_alone:,}",
        )
        for value, each in rows
    )
    mixed = any(each.mixes_all for _, each in rows)
    return Table(
        f"What another {key} would do",
        tuple(Column(head, folds=True) for head in heads),
        cells,
        own=frozenset(place for place, (_, each) in enumerate(rows) if each is own),
        closing="all: everything is shuffled with everything" if mixed else "",
        on=DETAIL,
    )


def _alone(mixing: Mixing) -> Text:
    """Sentence on people who are not shuffled at all."""
    if not mixing.num_alone:
        return Text("Nobody is alone: every report is shuffled with somebody else\u2019s.", on=PAGE)
    alone = count(mixing.num_alone)
    text = (
        f"{alone} of {count(mixing.num_users)} people ({percent(mixing.num_alone / mixing.num_users)}) are alone in a "
        "block: their reports are not shuffled at all, and epsilon0 alone protects them."
    )
    return Text(text, Role.LEAD, bold=(alone,), on=PAGE)


def _table_of_shuffles(outcome: ColumnOutcome, mixing: Mixing, section: GroupsSection) -> Table:
    """Table that compares no shuffle, this shuffle and a uniform shuffle."""
    uniform, unit = number(mixing.displacement_uniform), section.unit_of_distances
    lines = [
        ("Mean distance in the order, in ranks", "0", number(mixing.displacement), uniform),
        ("Nine of ten reports land within, in ranks", "0", number(mixing.displacement_90), NOTHING),
    ]
    if mixing.distance is not None and mixing.distance_90 is not None:
        lines += [
            ("Half of the reports land within", "0", f"{number(mixing.distance)}{unit}", NOTHING),
            ("Nine of ten land within", "0", f"{number(mixing.distance_90)}{unit}", NOTHING),
        ]
    stays, least = f"Share of a group\u2019s reports that stays ({mixing.how_kept})", percent(mixing.kept_least)
    lines += [
        (stays, "100%", percent(mixing.kept), percent(mixing.kept_uniform)),
        ("The same in the group where it is least", "100%", least, NOTHING),
        _losses_of_order(outcome, mixing),
    ]
    caption = (
        "Where a report may land; averages over simulated shuffles where no other is said, the same for whatever "
        "people answered"
    )
    heads = tuple(map(Column, ("What", "No shuffling", "This shuffle", "Uniform shuffle")))
    rows = tuple((what, none, Cell(text=this, bold=True), last) for what, none, this, last in lines)
    return Table(caption, heads, rows, label="What the shuffle did", on=PAGE)


def _losses_of_order(outcome: ColumnOutcome, mixing: Mixing) -> tuple[str, str, str, str]:
    """Row of the loss of the order inside a group: without a shuffle, with this shuffle, with a uniform shuffle.

    Without a shuffle it is the loss of randomizing, which is the most.
    """
    name = "Loss of the order inside a group (alpha)"
    if outcome.seeded:
        return (name, _loss(math.inf), "withdrawn", NOTHING)
    stated = d_sigma_of_local(outcome.model)
    guarantee = None if stated is None else stated.guarantee
    alone = guarantee.alpha if isinstance(guarantee, DSigmaPrivacy) else math.inf
    return (name, _loss(alone), _loss(min(alone, mixing.alpha)), "0")


def _loss(alpha: float) -> str:
    return "infinite" if math.isinf(alpha) else number(alpha, "at most")


def _losses_by_size(regional: RegionalResult) -> Iterable[Block]:
    """Table of the losses of the order by group size: pure losses, and losses beside a remainder delta."""
    if not regional.losses:
        return
    delta = in_digits(regional.losses[0].delta, "exactly")
    rows = tuple(
        (
            count(each.largest)
            if each.smallest == each.largest
            else f"{count(each.smallest)} to {count(each.largest)}",
            count(each.num_groups),
            _loss(each.pure),
            Cell(text=_loss(each.alpha), bold=True),
        )
        for each in regional.losses
    )
    heads = tuple(map(Column, ("People in the group", "Groups", "alpha", f"alpha beside delta = {delta}")))
    caption = (
        "What the shuffle tells of the order inside a group, at most: by every outcome, and apart from a remainder "
        "delta. Large groups lose far less than every outcome might tell"
    )
    yield Table(caption, heads, rows, look="numeric", label="Losses by group size", on=PAGE)


def _household_rows(regional: RegionalResult) -> list[tuple[str, str]]:
    """Rows on the chance of naming the slots of households."""
    return [
        (
            f"{at_least} or more of {each.size} people next to each other in one stretch of the order, {whose}",
            percent(chance),
        )
        for each in regional.households
        for at_least, whose, chance in (
            (each.at_least, "where it is likeliest", each.more_than_half),
            (each.at_least, "in half of the cases at most", each.more_than_half_median),
            (each.size, "where it is likeliest", each.all_slots),
        )
    ]


def _common_answers(regional: RegionalResult) -> Iterable[Block]:
    """Text on the central loss of an answer that all people of a household have in common."""
    for each in regional.households:
        if each.common is not None and each.common_median is not None:
            most, half = (in_digits(value, "at most") for value in (each.common, each.common_median))
            yield Text(
                f"Where {each.size} people next to each other hold one yes or no in common, changing it for all of "
                f"them changes the probability of anything released by a factor of at most e^epsilon, epsilon = {most} "
                f"(in half of the cases {half}), apart from the remainder delta: whoever lives together is not hidden "
                "as well as one person.",
                Role.NOTE,
                on=PAGE,
            )


def _odds(regional: RegionalResult) -> Iterable[Block]:
    """Table of the chances of finding a report, for the least hidden people first."""
    smallest, largest, near = regional.hidden.by_smallest, regional.hidden.by_group, regional.hidden.by_all
    if largest is None:
        return
    found = []
    if regional.mixing.num_alone:
        people = count_of(regional.mixing.num_alone, "person who is", "people who are")
        found.append((f"The {people} alone: the report stays in its slot", "100%"))
    found += _named_rows(regional)
    if smallest is not None and (_promises(smallest) or regional.hidden.named is None):
        which = "smallest of the others" if regional.mixing.num_alone else "smallest"
        found.append((f"Somebody whose group is the {which}: {count(smallest.group_size)} people", _chance(smallest)))
    if _promises(largest) or regional.hidden.named is None:
        found.append((f"Somebody whose group is the largest: {count(largest.group_size)} people", _chance(largest)))
    if near is not None:
        found.append(("Somebody in the middle of the order, hidden by everybody nearby too", _chance(near)))
    found += _household_rows(regional)
    caption = (
        "With which chance somebody names the slot of one person\u2019s report: somebody who knows all answers and all "
        "public columns, and lacks only the randomness of reports and shuffle"
    )
    rows = tuple((whose, Cell(text=chance, bold=True)) for whose, chance in found)
    heads = (Column("Whose report"), Column("Chance"))
    yield Table(caption, heads, rows, look="numeric chances", label="Chances of finding a report", on=PAGE)
    larger = {
        "values": "what is reported counts for more.",
        "order": "where it lies counts for more.",
        "neither": "both count for the same.",
    }[largest.dominates]
    yield Text(
        f"What is reported may multiply the odds of a right guess by e^{in_digits(largest.from_values, 'at most')} "
        f"(twice epsilon0 in the exponent), and where it lies by e^{in_digits(largest.from_order, 'at most')} (alpha, "
        f"inside a group); {larger}",
        Role.NOTE,
        on=PAGE,
    )


def _named_rows(regional: RegionalResult) -> list[tuple[str, str]]:
    """Rows on the chance of naming a slot: for the least hidden person, nine in ten people, and half.

    People are hidden by everybody nearby, as in a plan; bounds from the group alone may be larger.
    """
    if regional.hidden.named is None:
        return []
    others = " of the others" * bool(regional.mixing.num_alone)
    named = {"The least hidden person": "most", "Nine in ten people": "nine_in_ten", "Half of the people": "half"}
    return [(f"{whose}{others}", _at_most(getattr(regional.hidden.named, key))) for whose, key in named.items()]


def _promises(bound: ReidentificationBound) -> bool:
    return bound.success <= _CERTAIN


def _chance(bound: ReidentificationBound) -> str:
    return _at_most(bound.success)


def _at_most(chance: float) -> str:
    """Upper bound on a probability in words; "nothing is promised" for a nearly certain event."""
    return "nothing is promised" if chance > _CERTAIN else f"at most {percent(chance, 'at most')}"
