"""What a shuffle does to groups, on the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shuffledp._numerals import in_digits
from shuffledp.tasks import GroupsPlan, GroupsSection, Mixing

__all__ = ["mixing_sentences", "show_groups"]

_WHOLE = 1000  # ranks: from here on without decimals


def show_groups(console: Console, plan: GroupsPlan, section: GroupsSection) -> None:
    """Group sizes and the order first, then what other losses and other groups would do."""
    own = plan.mixing
    console.print(Text(f"Groups: {section.words}.", style="bold"))
    for sentence in mixing_sentences(own, section):
        console.print(Text(sentence))
    console.print(_table("alpha", [(f"{each.alpha:.4g}", each) for each in plan.by_alpha], own, section))
    if plan.by_reach:
        reaches = [(f"{each.value:.4g}", each.mixing) for each in plan.by_reach]
        own_value = section.radius if section.radius is not None else section.neighbors
        rows = sorted([*reaches, (f"{own_value:.4g}", own)], key=lambda row: float(row[0]))
        console.print(_table(plan.by_reach[0].key, rows, own, section))


def mixing_sentences(mixing: Mixing, section: GroupsSection) -> list[str]:
    """Sizes, order and displacement in words."""
    blocks = (
        "in one block"
        if mixing.num_blocks == 1
        else f"in {mixing.num_blocks:,} blocks that do not mix, the largest of {mixing.largest_block:,}"
    )
    alone = (
        f" {mixing.num_alone:,} are alone in a block: their reports are not shuffled at all."
        if mixing.num_alone
        else ""
    )
    sentences = [
        f"{mixing.num_groups:,} groups of {mixing.smallest:,} to {mixing.largest:,} people (median {mixing.median:,}), "
        f"{blocks}.{alone}",
        f"The order found has an exact {mixing.sensitivity_distance.capitalize()} sensitivity of "
        f"{mixing.sensitivity:,}; shuffled by {mixing.kind}.",
        _landing(mixing, section),
        f"Of the slots of a group, {mixing.kept:.1%} hold a report of the group on average (least "
        f"{mixing.kept_least:.1%}; {mixing.kept_uniform:.1%} after a uniform shuffle of everybody; "
        f"{mixing.how_kept}).",
    ]
    if len(mixing.compared) > 1:
        compared = ", ".join(f"{kind} {ranks:,.1f}" for kind, ranks in mixing.compared.items())
        sentences.append(f"Chosen because it displaces least, in ranks: {compared}.")
    return sentences


def _landing(mixing: Mixing, section: GroupsSection) -> str:
    sentence = (
        f"A report lands {mixing.displacement:,.1f} ranks away on average, nine of ten within "
        f"{mixing.displacement_90:,.0f}; {mixing.displacement_uniform:,.0f} would be a uniform shuffle."
    )
    if mixing.distance is None or mixing.distance_90 is None:
        return sentence
    near, far = (
        f"{in_digits(value, '')}{section.unit_of_distances}" for value in (mixing.distance, mixing.distance_90)
    )
    return f"{sentence} Half land within {near}, nine of ten within {far}."


def _table(key: str, rows: Sequence[tuple[str, Mixing]], own: Mixing, section: GroupsSection) -> Table:
    """Narrow enough for 80 columns; where numbers are too long even so, they go on in the next line."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    unit = "ranks" if own.distance_90 is None else section.unit.strip() or ", ".join(section.columns)
    names = (key, "largest\ngroup", "sensi-\ntivity", "ranks\nmoved", f"90% within\n{unit}", "stays in\ngroup", "alone")
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    for value, each in rows:
        table.add_row(
            f"{value} (yours)" if each is own else value,
            f"{each.largest:,}",
            f"{each.sensitivity:,}",
            f"{_ranks(each.displacement)}{' all' if each.mixes_all else ''}",
            f"{each.displacement_90:,.0f}" if each.distance_90 is None else in_digits(each.distance_90, ""),
            f"{each.kept:.1%}",
            f"{each.num_alone:,}",
            style="bold" if each is own else "",
        )
    table.caption = "all: everything is shuffled with everything" if any(each.mixes_all for _, each in rows) else None
    return table


def _ranks(mean: float) -> str:
    return f"{mean:,.1f}" if mean < _WHOLE else f"{mean:,.0f}"
