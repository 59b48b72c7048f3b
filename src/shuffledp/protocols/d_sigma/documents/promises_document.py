"""Promises to each person before a collection, in words: naming of slots, households, central loss, regions."""

from collections.abc import Iterator

from shuffledp.core.text import count_of, in_digits, percent
from shuffledp.documents.blocks import DETAIL, Block, Column, Table, Text
from shuffledp.protocols.d_sigma.planning.personal_promises import WEAK, Promises, RegionKept, SpreadOverPeople

_CERTAIN = 0.9995
_APART = (
    " Nothing hides a household whose members are not neighbors in the order, as in different places, or whose block "
    "is too small."
)
_WHO = ("least hidden", "nine in ten", "half")


def promised(promises: Promises) -> Iterator[Block]:
    """Text and tables of the promises: for all people, by person, and for regions."""
    named = promises.named
    half = chance_at_most(named.half)
    household = max(promises.households.items(), key=lambda each: each[1].most, default=None)
    together = ""
    if household is not None:
        size, spread = household
        together = (
            f" Of a household of {size} they find more than half at most with {chance_at_most(spread.most)} (half: "
            f"{chance_at_most(spread.half)}).{_APART * (spread.most > _CERTAIN)}"
        )
    alone = f" ({count_of(promises.num_alone, 'person')} alone left out)" * bool(promises.num_alone)
    yield Text(
        "Somebody who knows all answers will name the slot of one report at most with "
        f"{chance_at_most(named.most)} (half of the people: {half}){alone}.{together}{_weakness(promises)}"
    )
    yield _by_person(promises)
    if promises.regions:
        yield _by_region(promises.regions)


def chance_at_most(chance: float) -> str:
    """Upper bound on a chance in percent; 100% for a nearly certain event."""
    return "100%" if chance > _CERTAIN else percent(chance, "at most")


def _weakness(promises: Promises) -> str:
    """Sentence on a weak promise and the people it concerns; "" for other promises."""
    if promises.named.half > WEAK:
        return " This is a weak promise: for most people it says next to nothing."
    return " For the least hidden this is a weak promise." * (promises.named.most > WEAK)


def _by_person(promises: Promises) -> Table:
    """Table of chances and central losses: for the least hidden person, nine in ten people, and half."""
    rows = [("one report named", *_chances(promises.named))]
    rows += [(f"household of {size}, more than half", *_chances(each)) for size, each in promises.households.items()]
    central = promises.central
    for size, each in promises.common.items():
        losses = (in_digits(value, "at most") for value in (each.most, each.nine_in_ten, each.half))
        rows.append((f"epsilon of one answer that all {size} hold in common", *losses))
    losses = (in_digits(each, "at most") for each in (central.most, central.nine_in_ten, central.half))
    rows.append((f"central epsilon, delta {promises.delta:g}", *losses))
    heads = (Column("what each person is promised, at most", left=True), *map(Column, _WHO))
    return Table("What each person is promised", heads, tuple(rows), on=DETAIL)


def _chances(spread: SpreadOverPeople) -> tuple[str, ...]:
    return tuple(chance_at_most(each) for each in (spread.most, spread.nine_in_ten, spread.half))


def _by_region(regions: tuple[RegionKept, ...]) -> Table:
    """Table of the share of reports that stay in their group, for groups along the order."""
    sure = percent(1 - regions[0].delta)
    heads = (
        Column("group at this place of the order", left=True),
        *map(Column, ("people", "stays", f"with {sure} at least")),
    )
    rows = tuple(
        (f"{each.rank:.0%}", f"{each.people:,}", percent(each.mean), percent(each.least, "at least"))
        for each in regions
    )
    return Table("How much of each region stays", heads, rows, on=DETAIL)
