"""Text for people: numbers rounded so that bounds stay true, plurals, and no control characters.

A number is rounded up after "at most" and down after "at least"; an exact loss is a promise too, and rounded up.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import pairwise

# C0 and C1 command a terminal or break a line. Marks of direction make text read as what it is not. No file can hold
# surrogates, nor a picture the last two.
_MISLEADING = "\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_CONTROLS = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{_MISLEADING}\ufffe\uffff]")
_UNSEEN = re.compile("[\ufe00-\ufe0f\u034f\u115f\u1160\u3164\U000e0100-\U000e01ef]")  # seen by no one, either
_BREAKS = "\n\t"

_ROUNDING = {"at most": ROUND_CEILING, "exactly": ROUND_CEILING, "at least": ROUND_FLOOR}
_PLAIN_BELOW = 10**6  # up to here numbers are written out, with thousands apart
_ROUNDED_AT = 1e-9  # relative difference from which a shown number is called rounded
_DIGITS_MEANT = 15  # what follows is how floats are added: 0.1 + 0.2 is 0.30000000000000004, and 0.3 is meant
_DIGITS_EXACT = 9  # significant digits of numbers that are called exact
_FEWEST_DIGITS, _MOST_DIGITS = 6, 17  # of the ends of bins; with the most, no two floats look alike
_WHOLE_BELOW = 1e15  # in size: whole numbers are written out
_LARGEST_EXPONENT = 700.0  # beyond, exp overflows; the factor is shown as a power


def has_controls(text: str) -> bool:
    """Whether text has control characters, which `printable` escapes."""
    return _CONTROLS.search(text) is not None


def is_misleading(text: str) -> bool:
    """Whether text has direction marks, which reorder it on screen, or surrogates, unfit for files."""
    return re.search(f"[{_MISLEADING}]", text) is not None


def as_seen(text: str) -> str:
    """Text in its visible form: composed, without unseen characters, and with blanks of one kind."""
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFC", text)
    seen = (each for each in composed if unicodedata.category(each) != "Cf" and not _UNSEEN.match(each))
    return "".join(" " if each.isspace() else each for each in seen)


def alike(names: Sequence[str]) -> tuple[str, str] | None:
    """First two different names that look the same; None if all names look different."""
    first: dict[str, str] = {}
    for name in names:
        if first.setdefault(as_seen(name), name) != name:
            return first[as_seen(name)], name
    return None


def printable(text: str, *, lines: bool = False) -> str:
    r"""Text that is safe to show: control characters are escaped, except line breaks if ``lines``.

    Example:
        >>> print(printable("red \x1b[31m"))
        red \x1b[31m
    """
    return _CONTROLS.sub(lambda found: found[0] if lines and found[0] in _BREAKS else repr(found[0])[1:-1], text)


def names_of(categories: Iterable[str | int | bool]) -> tuple[str, ...]:
    """Categories as text: true and false in lower case."""
    return tuple(str(each).lower() if isinstance(each, bool) else str(each) for each in categories)


def pair_names(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Names of all pairs from two lists; all pairs of the first name come first."""
    return tuple(f"{one}, {other}" for one in first for other in second)


def bin_names(edges: Sequence[float]) -> tuple[str, ...]:
    """Names of the bins between ascending edges.

    Example:
        >>> bin_names([0.0, 2.5, 1_000_000])
        ('0 to 2.5', '2.5 to 1000000')
    """
    return tuple(f"{lower} to {upper}" for lower, upper in pairwise(edge_names(edges)))


def edge_names(edges: Sequence[float]) -> list[str]:
    """Names of ascending edges, in the fewest digits that keep all names different.

    Whole numbers are written as they are.
    """
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        whole = (edge == round(edge) and abs(edge) < _WHOLE_BELOW for edge in edges)
        shown = [f"{edge + 0.0:.0f}" if each else f"{edge:.{digits}g}" for edge, each in zip(edges, whole, strict=True)]
        if len(set(shown)) == len(shown):
            break
    return shown


def plural(count: float, one: str, many: str = "") -> str:
    """Noun for a number of things; ``many`` is "" where the plural only adds an s."""
    return one if count == 1 else many or f"{one}s"


def count_of(count: int, one: str, many: str = "") -> str:
    """Count with its noun and thousands separators: "1 person", "12,000 reports"."""
    return f"{count:,} {plural(count, one, many)}"


def in_digits(value: float, relation: str, *, digits: int = 4) -> str:
    """Nonnegative number in digits, rounded so that ``relation`` stays true.

    It is rounded up after "at most" and "exactly", down after "at least", else to nearest.

    Example:
        >>> in_digits(0.021521, "at most", digits=3), in_digits(0.021521, "at least", digits=3)
        ('0.0216', '0.0215')
        >>> in_digits(8103.08, "at most"), in_digits(0.1 + 0.2, "at most")
        ('8,104', '0.3')
    """
    if math.isinf(value) or value == 0:
        return f"{value:g}"
    meant = _DIGITS_EXACT if relation == "exactly" else _DIGITS_MEANT
    exact = Decimal(f"{float(value):.{meant}g}")  # 0.1 is meant as it is written
    last = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    rounded = (exact / last).to_integral_value(_ROUNDING.get(relation, ROUND_HALF_UP)) * last
    if 1000 <= rounded < _PLAIN_BELOW:
        return f"{float(rounded):,.{max(digits - 1 - exact.adjusted(), 0)}f}"
    return f"{float(rounded):.{digits}g}"


def percent(share: float, relation: str = "") -> str:
    """Share in percent with one decimal, or with more to differ from 0% and 100%.

    It is rounded as in `as_share`.
    """
    for decimals in range(1, 9):
        shown = as_share(share, relation, decimals=decimals)
        if 0 < float(shown[:-1]) < 100:
            return shown
    return f"{100 * share:.0f}%"


def as_share(share: float, relation: str = "", *, decimals: int = 1) -> str:
    """Share in percent: rounded up for "at most", down for "at least", else to nearest."""
    scaled = round(share * 100 * 10**decimals, 6)  # what floats add is no further digit
    rounded = {"at most": math.ceil, "at least": math.floor}.get(relation, round)(scaled)
    return f"{rounded / 10**decimals:.{decimals}f}%"


def shown_relation(value: float, shown: str, relation: str) -> str:
    """Relation before a shown number: "exactly" becomes "at most" where the number is rounded."""
    rounded = not math.isinf(value) and not math.isclose(float(shown.replace(",", "")), value, rel_tol=_ROUNDED_AT)
    return "at most" if relation == "exactly" and rounded else relation


def said_of(value: float, relation: str) -> str:
    """Relation and number: "exactly 1.5", "at most 0.1016"."""
    shown = in_digits(value, relation)
    return f"{shown_relation(value, shown, relation)} {shown}"


def factor_in_digits(epsilon: float, relation: str) -> str:
    """Factor exp(epsilon) on a probability, in digits; close to 1 it is written as 1 plus the excess."""
    if epsilon > _LARGEST_EXPONENT:
        return f"e^{in_digits(epsilon, relation)}"
    excess = math.expm1(epsilon)
    if 0 < excess < 0.01:
        return f"1 + {in_digits(excess, relation, digits=2)}"
    return in_digits(1 + excess, relation, digits=3 if 1 <= excess < 1000 else 4)


# From which loss on a promise is called weak, and from which on hardly a promise; here and nowhere else.
_WEAK_ABOVE = 3.0
_HARDLY_ABOVE = 7.0


def weakness_of(loss: float, secret: str) -> str:
    """Warning of a large privacy loss in nats about ``secret``; "" for a small loss."""
    words = {
        "": "",
        "weak": f"This is a weak promise: what is seen may tell a lot about {secret}.",
        "hardly": f"This is hardly a promise: what is seen may all but give away {secret}.",
    }
    return words[weakness_grade(loss)]


def weakness_grade(loss: float) -> str:
    """Grade of a large privacy loss in nats as a promise: "weak" or "hardly"; "" for a small loss."""
    if loss <= _WEAK_ABOVE:
        return ""
    return "weak" if loss <= _HARDLY_ABOVE else "hardly"


def sum_rounded_up(
    first: float, second: float, *, shares: tuple[Fraction, Fraction] = (Fraction(1), Fraction(1))
) -> float:
    """Sum of two numbers, each times its share, rounded up to the next float.

    Rounding must not make a promise stronger.
    """
    if math.isinf(first) or math.isinf(second):
        return math.inf
    exact = shares[0] * Fraction(float(first)) + shares[1] * Fraction(float(second))
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)
