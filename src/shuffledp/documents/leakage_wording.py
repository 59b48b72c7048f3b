"""What is learned about one person, in sentences and percentages, rounded so that a bound stays true."""

import math

from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.core.text import in_digits
from shuffledp.leakage import Comparison, Vulnerability, Way

CORRELATED = (
    "People whose answers go together, such as households, leak more than this: then one person's report tells about "
    "another's answer too."
)
NAMES = {
    "randomizing": "Randomizing only",
    "shuffling": "Shuffling only",
    "sample": "Shuffling only, a random sample",
    "both": "Randomizing and shuffling",
}
_IN_SENTENCES = {
    "randomizing": "randomizing alone",
    "shuffling": "shuffling alone",
    "sample": "shuffling a sample alone",
    "both": "both together",
}
ADVERSARIES = {"uninformed": "who knows nobody's answer", "strong": "who knows everybody else's answer"}
_MOST_DECIMALS = 10
_WIDE = 1.1


def as_share(value: float, relation: str = "", *, decimals: int = 1) -> str:
    """A share in percent: rounded up for "at most", down for "at least", else to nearest."""
    scaled = round(value * 100 * 10**decimals, 6)  # what floats add is no further digit
    rounded = {"at most": math.ceil, "at least": math.floor}.get(relation, round)(scaled)
    return f"{rounded / 10**decimals:.{decimals}f}%"


def change(found: Vulnerability) -> tuple[str, str]:
    """The value and the prior in percent, with as many decimals as it takes to tell them apart, if ten are enough."""
    relation = found.kind.relation
    for decimals in range(1, _MOST_DECIMALS + 1):
        after, before = as_share(found.value, relation, decimals=decimals), as_share(found.prior, decimals=decimals)
        if float(after[:-1]) > float(before[:-1]):
            return after, before
    return as_share(found.value, relation), as_share(found.prior)


def between(found: Vulnerability, *, decimals: int = 1) -> str:
    """The interval in percent, rounded outward; one number if its ends look alike."""
    low = as_share(found.lower, "at least", decimals=decimals)
    high = as_share(min(found.upper, 1.0), "at most", decimals=decimals)
    return high if low == high else f"{low[:-1]} to {high}"


def seen_in(model: ProtocolModel) -> str:
    """What an adversary sees of a protocol."""
    if model.shuffle.is_uniform:
        return "the shuffled table"
    alone = [law.counts for law in model.shuffle.position_laws()] == [(1,)]
    return "whose report is whose" if alone else "the reports in their new order"


def after_seeing(found: Vulnerability, seen: str, *, counts_right: bool = True) -> str:
    """How often, or how well, the best guess does: one sentence that says of which kind the number is."""
    relation = {"exactly": ""}.get(found.kind.relation, f"{found.kind.relation} ")
    start = f"After seeing {seen}, the best guess about one person is"
    if not counts_right:
        return f"{start} worth {relation}{found.value:.6g} on average instead of {found.prior:.6g}."
    after, before = change(found)
    if found.kind is Kind.UPPER_BOUND and _is_wide(found):
        decimals = len(after.partition(".")[2]) - 1
        rounded_down = as_share(found.lower, "at least", decimals=decimals)
        least = max(rounded_down, before, key=lambda share: float(share[:-1]))
        return f"{start} right between {least} and {after} of the time instead of {before}."
    if after == before and found.kind in (Kind.EXACT, Kind.UPPER_BOUND):
        often = "as often as before" if found.additive_leakage <= 0 else "hardly more often than before"
        return f"{start} right {before} of the time, {often}."
    return f"{start} right {relation}{after} of the time instead of {before}."


def _is_wide(found: Vulnerability) -> bool:
    """Whether the bounds of what is gained are so far apart that one of them alone would mislead."""
    return found.lower > found.prior and found.upper - found.prior > _WIDE * (found.lower - found.prior)


def contributions(found: Comparison, *, counts_right: bool = True) -> list[str]:
    """What shuffling and randomizing each contribute, against both adversaries and at equal error, in sentences."""
    ways = {name: way for name in NAMES if (way := found.way(name)) is not None}
    sentences = [_against(adversary, ways, counts_right=counts_right) for adversary in ADVERSARIES]
    if "sample" in ways:
        sample, both = ways["sample"], ways["both"]
        sentences.append(
            "Randomizing alone and both together estimate equally well. Shuffling alone without any randomizing errs "
            f"as much if it is of a random sample: of {sample.people:,} of {both.people:,} people."
        )
    return [sentence for sentence in sentences if sentence]


def _against(adversary: str, ways: dict[str, Way], *, counts_right: bool) -> str:
    """By how much each way improves the best guess of one adversary."""
    known = {name: getattr(way, adversary) for name, way in ways.items() if getattr(way, adversary) is not None}
    parts = [f"{_gained(each, counts_right=counts_right)} by {_IN_SENTENCES[name]}" for name, each in known.items()]
    unit = ", in percentage points" if counts_right else ""
    return f"Somebody {ADVERSARIES[adversary]} gains{unit}: {', '.join(parts)}." if parts else ""


def _gained(found: Vulnerability, *, counts_right: bool) -> str:
    relation = {"exactly": ""}.get(found.kind.relation, f"{found.kind.relation} ")
    gain = found.additive_leakage * (100 if counts_right else 1)
    return f"{relation}{in_digits(gain, found.kind.relation, digits=3)}"
