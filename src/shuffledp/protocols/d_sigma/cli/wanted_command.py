"""Options of `plan` for requirements on a shuffle near an order, and the settings that it prints."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.options import named, show_result, whole
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.protocols.d_sigma.planning.wanted_settings import Requirements
    from shuffledp.survey import Task
    from shuffledp.survey.columns import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedOptions:
    """Requirements on a shuffle near an order, from the options of `plan`; None for each option left out."""

    slot_chance: Annotated[
        float | None, typer.Option(help="Which alpha, so that nobody names a report's slot with a larger chance?")
    ] = None
    stays_in_group: Annotated[
        float | None, typer.Option(help="Which alpha, so that this share of a group's slots keeps its reports?")
    ] = None
    blur: Annotated[float | None, typer.Option(help="Which alpha, so that reports move so many ranks at most?")] = None
    household: Annotated[int | None, whole("Which alpha, so that of so many people at one place,")] = None
    chance: Annotated[float | None, typer.Option(help="more than half are found with this chance at most?")] = None

    @property
    def given(self) -> dict[str, float]:
        """Options that are given, by name."""
        each = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in each.items() if value is not None}


def is_sought(task: Path, options: WantedOptions, epsilon: float | None, beside: Mapping[str, object]) -> bool:
    """Whether `plan` must search for settings of a shuffle near an order.

    Refused beside options that ask for other settings.
    """
    from shuffledp.survey import Task

    other = next((name for name, value in beside.items() if value is not None and name != "input"), None)
    if options.given and other is not None:
        first = next(iter(options.given))
        raise InvalidParameterError(
            f"{named(first)} must be left out beside {named(other)}, which asks for something else."
        )
    if other is None and epsilon is not None and not options.given:
        return Task.read(task).shuffler.needs_groups
    return bool(options.given)


def _least_hidden(task: "Task", wanted: "Requirements") -> "Column":
    """Column with the largest epsilon0; ``epsilon`` is refused for several columns, whose losses add up."""
    if len(task.columns) > 1 and wanted.epsilon is not None:
        raise InvalidParameterError(
            "--epsilon must be asked of a task with one private column: a person's losses of several add up, and "
            "`plan` without this says to what."
        )
    return max(task.columns, key=lambda column: column.randomizer.randomizer().model.epsilon0)


def show_sought(
    task: Path,
    people: Path | None,
    options: WantedOptions,
    epsilon: float | None,
    *,
    users: int | None = None,
    as_json: bool,
) -> None:
    """Print the settings that meet the requirements on a task with groups."""
    from shuffledp.cli.progress_bars import watching
    from shuffledp.cli.protocol_options import check_people, read_surroundings
    from shuffledp.protocols.d_sigma.documents.sought_document import sought_document
    from shuffledp.protocols.d_sigma.planning.wanted_settings import Requirements
    from shuffledp.protocols.d_sigma.survey.groups import Grouping
    from shuffledp.protocols.d_sigma.survey.pilot import section_with_groups
    from shuffledp.protocols.d_sigma.survey.settings_search import seek
    from shuffledp.survey import Task
    from shuffledp.survey.planning.task_planning import planned_people

    asked, wanted = Task.read(task), Requirements(**options.given, epsilon=epsilon)  # type: ignore[arg-type]
    column = _least_hidden(asked, wanted)
    _, groups = section_with_groups(column)
    check_people(asked, people)
    with watching("") as watch:
        around = read_surroundings(asked, task.parent, users=None, people=people, progress=watch.progress)
        grouping = around.get("grouping")
        if not isinstance(grouping, Grouping):
            raise InvalidParameterError("the task must have a table [groups] for this.")
        planned_people(asked, users, grouping)  # another number than that of the input is refused
        found = seek(column, grouping, wanted, progress=partial(watch.progress, "trying settings"))
    show_result(
        found, lambda: sought_document(found, name=asked.name, digest=asked.sha256, groups=groups), as_json=as_json
    )
