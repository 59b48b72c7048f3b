"""Randomizers and tasks that the browser supports, and randomizer models in the form that the browser reads."""

import re
from typing import Any

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel
from shuffledp.parties.client.bundle import source_of
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Column, Task

# The kinds in the script's own table, so that what it lacks is refused before anybody is asked.
_TABLE = source_of("randomizers.js").partition("export const KINDS = {")[2]
KINDS = tuple(re.findall(r'^  "([\w-]+)": \[\w+, \w+\],$', _TABLE, re.MULTILINE))
KEM = "x25519"


def require_browser(task: Task, key: PublishedKey) -> None:
    """Refuse a task or key that the page for respondents does not support.

    Args:
        task: task of the collection.
        key: public key of the analyzer.

    Raises:
        InvalidParameterError: for a randomizer, or a mechanism of the key, that the browser lacks; or for
            public columns that travel beside reports, which the page does not ask for.
    """
    for column in task.columns:
        _require_randomizer(column)
        if column.attached:
            raise InvalidParameterError(
                f"a task that is answered on a page must be without public columns beside the reports, which the page "
                f"does not ask for; got {', '.join(map(repr, column.attached))}."
            )
    if key.kem != KEM:
        raise InvalidParameterError(
            f"the analyzer's key must be of kind {KEM!r} where people answer on a page; got kind {key.kem!r}."
        )


def _require_randomizer(column: Column) -> None:
    kind = column.randomizer.kind
    if kind not in KINDS:
        fits = [each for each in column.randomizer.alternatives() if each in KINDS]
        *others, last = map(repr, fits or KINDS)
        such = " for such answers" * bool(fits)
        by = f"{', '.join(others)} or {last}" if others else last
        raise InvalidParameterError(
            f"a task that is answered on a page must be randomized by {by}, which the browser has{such}; got "
            f"kind={kind!r} in column {column.value!r}."
        )
    if not column.randomizer.page_fields(column.inputs):
        raise InvalidParameterError(
            "a task that is answered on a page must ask questions that it can show; got a question of type "
            f"{column.randomizer.answers!r} in column {column.value!r}."
        )


def model_in_text(model: LocalModel) -> dict[str, Any]:
    """Description of a randomizer with integers as text, since JavaScript numbers hold only 53 bits.

    Example:
        >>> from shuffledp import KaryRandomizedResponse
        >>> model_in_text(KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model)
        {'kind': 'k-rr', 'domain_size': '2', 'share': '4961093570831980854'}
    """
    return {key: _in_text(value) for key, value in model.to_dict().items()}


def _in_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_text(each) for key, each in value.items()}
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value
