"""Planned comparisons of a task: their number, and the least difference that each can find."""

from math import comb
from typing import cast

from shuffledp.core.local_models import FrequencyModel, ProtocolModel
from shuffledp.core.text import count_of
from shuffledp.core.tick_models import TicksModel
from shuffledp.planning.detectable_differences import (
    BASE,
    POWER,
    LeastDifference,
    least_difference,
    least_difference_of_options,
)
from shuffledp.survey.columns import Column, Compared
from shuffledp.survey.task import Task

_REGIONS = 2  # as long as nobody knows how many there will be


def planned_comparisons(task: Task, column: Column, model: ProtocolModel) -> tuple[LeastDifference, ...]:
    """Least differences that comparisons of one column can find, counting comparisons in all columns.

    Regions are taken to be two, with half of the people each. Nothing is said of means and of tests of independence,
    nor of a shuffle that adds or loses reports.
    """
    local, shuffle = model.local, model.shuffle
    if not isinstance(local, FrequencyModel | TicksModel) or shuffle.dummies is not None or shuffle.arrival_share < 1:
        return ()
    total = sum(_number(each, kind) for each in task.columns for kind in task.release.compare)
    people, level, found, base = model.num_senders, task.release.level, [], BASE
    for kind in task.release.compare:
        if kind not in column.comparable or kind is Compared.INDEPENDENCE:
            continue
        if kind is Compared.OPTIONS:
            of_all = " (shares of all people, asked or not)" * (column.after is not None)
            between, base = f"two options{of_all}", 0.5 if _is_mirrored(column) else BASE
            least = least_difference_of_options(local, people, comparisons=total, level=level)
        else:
            half = max(people // _REGIONS, 1)
            base = BASE
            between = f"two regions of {count_of(half, 'person', 'people')} each"
            least = least_difference(cast(FrequencyModel, local), (half, half), comparisons=total, level=level)
        found.append(
            LeastDifference(between=between, difference=least, base=base, power=POWER, comparisons=total, level=level)
        )
    return tuple(found)


def _is_mirrored(column: Column) -> bool:
    """Whether a column is a choice between two options, so that one share gives the other."""
    model = column.randomizer.randomizer().model
    return len(column.randomizer.offered) == 2 and isinstance(model, FrequencyModel) and model.domain_size == 2


def _number(column: Column, kind: Compared) -> int:
    """Number of comparisons of one kind in a column."""
    if kind not in column.comparable:
        return 0
    options = len(column.randomizer.offered or column.randomizer.targets)
    pairs = {
        Compared.OPTIONS: comb(options, 2),
        Compared.REGIONS: comb(_REGIONS, 2) * (1 if _is_mirrored(column) else options),
        Compared.INDEPENDENCE: 1,
    }
    return pairs[kind]
