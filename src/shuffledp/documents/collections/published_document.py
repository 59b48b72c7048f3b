"""A published result in words; the data are somebody else's, so every number and text is checked."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.instants import shown
from shuffledp.core.statement_terms import Trust, trust_in_hosts
from shuffledp.core.text import count_of, printable
from shuffledp.documents.blocks import Block, Fold, Listing, Role, Table, Text, told
from shuffledp.documents.blocks import Column as TableColumn
from shuffledp.documents.document import Document, Section
from shuffledp.documents.words import MINUS, OUTSIDE, OUTSIDE_SHARES, decimals_for
from shuffledp.survey import Collection, Column

Result = tuple[str, Mapping[str, Any] | None]  # the day of its signature, and the statement; None: nothing was released

_MOST_ROWS = 2000
_SHARE, _AMONG = "frequency", "frequency among those asked"
_OF_ALL, _PEOPLE = {"mean": "Mean", "sum": "Total"}, "number of people"
_POINTS, _MOST_SHARE = 100, 1e6
_CHANGED = "changed by chance on the device before it was sent."
_SPLIT = "split by the device, with some chance, into messages that tell it only together."
_SIGNED = (
    "The numbers are the analyst's: they carry the signature of the key that the collection names, and nobody else has "
    "checked them."
)
_NOTHING = "Nothing was released: fewer people answered than are released, and their answers were destroyed unread."
_NOTHING_OF_HOSTS = (
    "Nothing was released: fewer people than are released had their shares at every host, or not all hosts came back "
    "and agreed. Honest hosts have destroyed what they had, unread."
)
_SPOILT = "Nothing was released, although what people sent has been opened. The analyst says why:"
_OUTSIDE = OUTSIDE.format(range="what answers allow")
_LONGEST_REASON = 1000


def published_document(collection: Collection, results: Sequence[Result], promised: Sequence[str]) -> Document:
    """Document of a collection's results: the newest first, then the earlier results that it corrects.

    Args:
        collection: the collection.
        results: published results, the first one first; one or more.
        promised: what was promised to those who answered, a sentence each; it is shown with whom it trusts.

    Raises:
        InvalidParameterError: if one is no result of this collection.
    """
    *before, (day, statement) = results
    contact = collection.task.release.contact
    corrected = f"This is a correction, signed on {day}. What was published before stands below." if before else ""
    trust = _trusted(collection) if promised else ()
    beware = [f"Beware. What was promised holds only as long as {each.text}." for each in trust if each.is_danger]
    taken = tuple(_of_people(each, collection) for each in trust if not each.is_danger)
    first = (
        *(Text(each, bold=(each,)) for each in beware),
        *told(corrected, role=Role.LEAD),
        *result_blocks(collection, statement),
    )
    earlier = tuple(
        Fold(f"Published on {when}, and corrected since", result_blocks(collection, what))
        for when, what in reversed(before)
    )
    about = [
        *told("" if statement is None else _SIGNED),
        *told(f"People could answer from {shown(collection.opens)} until {shown(collection.closes)} at the latest."),
        *told("This was promised to everybody who answered:" if promised else ""),
        *([Listing(tuple(map(printable, promised)))] if promised else []),
        *([Text("Besides what stands at the top, it holds only as long as"), Listing(taken, "trust")] if taken else []),
    ]
    return Document(
        title=printable(collection.task.name),
        kicker="Result of a survey",
        byline=f"Signed on {day}." + ("" if contact is None else f" Asked by: {printable(contact)}"),
        demonstration="Demonstration: answers may be made up." if collection.demonstration else "",
        sections=(
            Section(anchor="result", title="Result", blocks=(*first, *earlier)),
            Section(anchor="about", title="What this is", blocks=tuple(about)),
        ),
    )


def _trusted(collection: Collection) -> list[Trust]:
    """Trust that a collection's promise needs, as its release states it; dangers come first."""
    crowd = () if collection.task.people.unvouched else (Trust.SHUFFLER, Trust.NO_COLLUSION, Trust.HONEST_USERS)
    of_models = (
        trust_in_hosts((*column.randomizer.randomizer().model.trust, *crowd)) for column in collection.task.columns
    )
    return sorted({Trust.OWN_DEVICE, *collection.trust, *chain(*of_models)}, key=list(Trust).index)


def _of_people(needed: Trust, collection: Collection) -> str:
    """Trust requirement in words, for a text that mentions the collection's fake senders, if any."""
    return needed.text_beside_fakes if collection.task.people.fakes else needed.text


def result_blocks(collection: Collection, statement: Mapping[str, Any] | None) -> tuple[Block, ...]:
    """Blocks of one result: each question with the number of its answers, and a table of its estimates.

    Args:
        collection: the collection.
        statement: content of the release's ``statement.json``; None: nothing was released.

    Raises:
        InvalidParameterError: if it is no result of this collection.
    """
    if statement is None:
        return told(_NOTHING_OF_HOSTS if collection.further_shufflers else _NOTHING, role=Role.LEAD)
    try:
        columns, rows = collection.task.columns, statement["estimates"]
        parts = statement["columns"] if collection.task.in_blocks else [statement]
        if any(each["flow"]["collected"]["collection"] != collection.id.hex() for each in parts):
            raise ValueError
        if "not_released" in statement:
            return told(_SPOILT, _reason(statement["not_released"]), role=Role.LEAD)
        found: list[Block] = []
        for column, part in zip(columns, parts, strict=True):
            named = column.value if collection.task.in_blocks else None
            theirs = [each for each in rows if each.get("value") == named]
            found += _question(collection, column, part["num_reports"], theirs)
        return tuple(found)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise InvalidParameterError("a result must be of its collection, with its estimates; it is not.") from None


def _reason(text: Any) -> str:
    if not isinstance(text, str) or not 0 < len(text) <= _LONGEST_REASON:
        raise ValueError
    return printable(text)


def _question(
    collection: Collection, column: Column, number: Any, rows: Sequence[Mapping[str, Any]]
) -> tuple[Block, ...]:
    """Published estimates of one column; any other data raises an error."""
    if type(number) is not int or not 0 < len(rows) <= _MOST_ROWS:
        raise ValueError
    local = column.randomizer.randomizer().model
    people, rest = divmod(number, local.num_messages)
    if rest or not collection.minimum <= people < 1 << 53:
        raise ValueError
    levels, shares = (
        {_number(each["level"]) for each in rows},
        [each for each in rows if _is_share(column, each)],
    )
    decimals = decimals_for(_POINTS * _number(each["standard_error"]) for each in shares)
    level = f"{100 * min(levels):.4g}%"
    table = Table(
        f"Estimates with {level} intervals",
        (
            TableColumn("Answer", left=True, folds=True),
            TableColumn("Estimate"),
            TableColumn("Interval", brief=f"{level} interval"),
        ),
        tuple(_row(column, each, decimals if _is_share(column, each) else None) for each in rows),
    )
    asked = " & ".join(column.inputs) if column.question is None else column.question
    ended = [each for each in rows if _is_share(column, each) or each["statistic"] in _OF_ALL]
    outside = {_is_share(column, each) for each in ended if not each["lower"] <= each["estimate"] <= each["upper"]}
    return (
        Text(printable(asked), Role.SUBHEADING),
        Text(f"{count_of(people, 'answer')}, each of them {_SPLIT if math.isinf(local.epsilon0) else _CHANGED}"),
        table,
        *told(*(OUTSIDE_SHARES if is_share else _OUTSIDE for is_share in sorted(outside))),
    )


def _is_share(column: Column, row: Mapping[str, Any]) -> bool:
    """Whether a row is the share of an answer.

    The mean of two answers 0 and 1 counts as a share too.
    """
    is_mean = bool(column.randomizer.categories_of_answers) and row["statistic"] == "mean"
    return is_mean or row["statistic"] in (_SHARE, _AMONG)


def _row(column: Column, row: Mapping[str, Any], decimals: int | None) -> tuple[str, str, str]:
    """Name, estimate and interval of one row.

    A share is in percent, with this number of digits after the point.
    """
    target = row["target"]
    if not isinstance(target, str | int | float | bool):
        raise ValueError
    target = _of_all(column, row["statistic"]) or target
    lower, estimate, upper = (_number(row[name]) for name in ("lower", "estimate", "upper"))
    if not lower <= upper:
        raise ValueError
    written = _plain if decimals is None else partial(_percent, decimals=decimals)
    among = " (among those asked)" * (row["statistic"] == _AMONG)
    return f"{printable(str(target))}{among}", written(estimate), f"{written(lower)} to {written(upper)}"


def _of_all(column: Column, statistic: str) -> str:
    """Name of a mean, sum or single share that needs no column beside it; "" for other statistics."""
    if statistic not in _OF_ALL or len(column.targets) > 1:
        return ""
    (names,) = column.randomizer.categories_of_answers or ((),)
    if not names:
        return _OF_ALL[statistic]
    return str(names[1]) if statistic == "mean" else f"{names[1]} ({_PEOPLE})"


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)


def _percent(value: float, decimals: int) -> str:
    if abs(value) > _MOST_SHARE:
        raise ValueError
    return f"{round(_POINTS * value, decimals) + 0.0:.{decimals}f}%".replace("-", MINUS)  # no negative zero


def _plain(value: float) -> str:
    return f"{value:.4g}"
