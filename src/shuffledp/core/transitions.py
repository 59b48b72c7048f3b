"""Transition tables of state machines, shown in the documentation and tested against the step functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Transition:
    """Row of a transition table: next state and outputs after an event in a state.

    Args:
        state: state before the event.
        event: kind of the event, or the function that is called.
        to: state after the event; None if the event is refused.
        outputs: kinds of the outputs.
        when: condition for this row, a Python expression of ``state``, ``event`` and the settings; empty for always.
    """

    state: str
    event: Callable[..., Any]
    to: str | None
    outputs: tuple[type, ...] = ()
    when: str = ""

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """Texts of the row in Markdown: state, event, condition, next state, outputs."""
        return (
            str(self.state),
            _name(self.event),
            f"`{self.when}`" if self.when else "always",
            "refused" if self.to is None else str(self.to),
            ", ".join(map(_name, self.outputs)) or "none",
        )


def markdown(rows: tuple[Transition, ...]) -> str:
    """Table of a state machine in Markdown, with a row for each transition."""
    lines = ["| state | event | when | next state | outputs |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(each.cells)} |" for each in rows)]) + "\n"


def _name(kind: Callable[..., Any]) -> str:
    return f"`{kind.__name__}`"
