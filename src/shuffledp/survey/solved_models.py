"""Models of a task's protocols, pinned in a collection file so that all devices send equally many messages.

How many messages a sum needs follows from a calculation that a later version may improve. So a collection file says
what came out, and a version that finds something else refuses the file before anybody answers by it.
"""

from collections.abc import Mapping
from typing import Any

from shuffledp.core.errors import InvalidParameterError
from shuffledp.survey.task import Task

KEY = "models"


def solved_models(task: Task) -> dict[str, Any]:
    """Entry of a collection file with the solved models of a task, in the order of columns."""
    solved = [each.randomizer for each in task.columns if each.randomizer.needs_expected]
    return {KEY: [each.randomizer().model.to_dict() for each in solved]} if solved else {}


def without_models(file: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """Collection file's keys without its models, which must equal the models solved by this version.

    Raises:
        InvalidParameterError: if they are others; the message names the first number that differs.
    """
    written, found = file.get(KEY), solved_models(task).get(KEY)
    if written != found:
        raise InvalidParameterError(
            f"{KEY} of a collection must be what this version solves its [protocol] to{_first_of(written, found)}. "
            "Open it with the version that made it, or make the collection anew."
        )
    return {key: value for key, value in file.items() if key != KEY}


def _first_of(written: Any, found: Any) -> str:
    """First number that differs between two lists of models, in words; "" if there is no such number."""
    if not isinstance(written, list) or found is None or len(written) != len(found):
        return ""
    for here, there in zip(found, written, strict=True):
        for key, value in here.items():
            if not isinstance(there, Mapping) or there.get(key) != value:
                other = there.get(key) if isinstance(there, Mapping) else there
                return f", {key}={value!r}; got {other!r}"
    return ""
