"""Points in time for agreements of two parties: in UTC, to the second, as text.

Such a text is ``2026-12-01T12:00:00Z``. Nothing here looks at a clock: what is compared with the present takes
``now`` as an argument.
"""

import re
from datetime import UTC, datetime

from shuffledp.core.validate import invalid

_WRITTEN = "%Y-%m-%dT%H:%M:%SZ"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def instant(**values: str) -> datetime:
    """Point in time from the named argument's text; a date alone means the start of that day.

    Raises:
        InvalidParameterError: for a text of another form, or a day that does not exist.

    Example:
        >>> instant(closes="2026-12-01T12:00:00Z") - instant(opens="2026-12-01")
        datetime.timedelta(seconds=43200)
    """
    ((name, text),) = values.items()
    try:
        whole = f"{text}T00:00:00Z" if _DATE.fullmatch(text) else text
        found = datetime.strptime(whole, _WRITTEN).replace(tzinfo=UTC)
        if written(found) == whole:
            return found
    except (ValueError, TypeError):
        pass
    raise invalid("a date in UTC, such as 2026-12-01 or 2026-12-01T12:00:00Z", **{name: text})


def end_of_day(text: str) -> str:
    """Last second of a date without a time; any other text unchanged."""
    return f"{text}T23:59:59Z" if _DATE.fullmatch(text) else text


def written(moment: datetime) -> str:
    """Text of a point in time, cut to whole seconds; ``moment`` must have a time zone."""
    return moment.astimezone(UTC).replace(microsecond=0).strftime(_WRITTEN)


def shown(text: str) -> str:
    """Point in time as people read it: ``2026-12-01 12:00:00 UTC``."""
    return text.replace("T", " ").replace("Z", " UTC")
