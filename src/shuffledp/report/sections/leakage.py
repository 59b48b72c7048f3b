"""How often a guess about one person is right, before and after each part of the protocol, for two adversaries."""

from dataclasses import dataclass, replace

from shuffledp.errors import UnsupportedModelError
from shuffledp.leakage import Comparison, Vulnerability, Way, compare_ways, wording
from shuffledp.models import FrequencyModel
from shuffledp.report.parts import Section
from shuffledp.report.words import count, count_of
from shuffledp.statements import Kind
from shuffledp.tasks import Outcome

__all__ = ["leakage_section"]

_MOST_VALUES = 64
_ADVERSARIES = ("uninformed", "strong")
_STYLES = {"randomizing": "randomizing", "shuffling": "shuffling", "both": "both"}
_SHARE = "All of this is about this release of this column alone; the other releases tell more."


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """How often the guess is right in one case: before, and by how much more, both in percent of the bar's place."""

    name: str
    note: str
    share: str
    before: str
    more: str
    style: str


def leakage_section(outcome: Outcome) -> Section | None:
    """Bars from 0 to 100 percent for each adversary; None where reports are no table of answers."""
    local = outcome.model.local
    if not isinstance(local, FrequencyModel):
        return None
    try:
        if local.domain_size > _MOST_VALUES:
            raise UnsupportedModelError(f"it takes too long for {local.domain_size} answers.")
        found = _bounded(compare_ways(outcome.model, sampling=False, method="quick"), outcome.model.shuffle.kind)
    except UnsupportedModelError as error:
        return _section(outcome, {"tables": [], "left_out": [str(error)], "sentence": ""})
    last = found.way("both") or found.way("randomizing")
    seen = last.uninformed if last else None
    context = {
        "tables": [
            {
                "title": "Somebody who knows nobody's answer",
                "bars": _bars(found, "uninformed"),
            },
            {
                "title": "Somebody who knows everybody else's answer",
                "bars": _bars(found, "strong"),
            },
        ],
        "left_out": list(found.left_out),
        "sentence": _written(wording.after_seeing(seen, wording.seen_in(outcome.model))) if seen else "",
    }
    return _section(outcome, context)


def _section(outcome: Outcome, context: dict[str, object]) -> Section:
    local = outcome.model.local
    size = local.domain_size if isinstance(local, FrequencyModel) else 0
    common = {
        "answers": count(size),
        "people": count_of(outcome.model.num_users, "person", "people"),
        "shuffled": outcome.model.shuffle.kind != "none",
        "correlated": wording.CORRELATED,
        "share": _SHARE if len(outcome.statements[0].parts) > 1 else "",
        "withdrawn": any(statement.withdrawn for statement in outcome.release.statements),
    }
    return Section(name="leakage", title="What can be guessed about one person", context=context | common)


def _bounded(found: Comparison, kind: str) -> Comparison:
    """With what one's own report tells as a bound after a shuffle; only that where nothing is shuffled."""
    alone = found.way("randomizing")
    if kind == "none" or alone is None:
        return replace(found, ways=tuple(way for way in found.ways if way.name == "randomizing"))
    return replace(found, ways=tuple(_at_most(way, alone) if way.name == "both" else way for way in found.ways))


def _at_most(way: Way, alone: Way) -> Way:
    known = {
        name: replace(bound, lower=bound.prior, kind=Kind.UPPER_BOUND)
        for name in _ADVERSARIES
        if getattr(way, name) is None and (bound := getattr(alone, name)) is not None
    }
    return replace(way, **known)


def _bars(found: Comparison, adversary: str) -> list[Bar]:
    before = Bar(
        name="Before",
        note="nothing has been seen",
        share=_written(wording.as_share(found.prior)),
        before=f"{100 * found.prior:.2f}",
        more="",
        style="before",
    )
    known = [(way.name, each) for way in found.ways if (each := getattr(way, adversary)) is not None]
    return [before, *(_bar(name, each) for name, each in known)]


def _bar(name: str, found: Vulnerability) -> Bar:
    relation = found.kind.relation
    return Bar(
        name=wording.NAMES[name],
        note={"exactly": "exact"}.get(relation, relation),
        share=_written(wording.change(found)[0]),
        before=f"{100 * found.prior:.2f}",
        more=f"{100 * (min(found.value, 1.0) - found.prior):.2f}" if found.value > found.prior else "",
        style=_STYLES[name],
    )


def _written(text: str) -> str:
    """With percentages as the rest of the page writes them."""
    return text.replace(" %", "%")
