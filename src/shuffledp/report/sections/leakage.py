"""How often a guess about one person is right, before and after each part of the protocol, for two adversaries."""

import math
from dataclasses import dataclass, replace

from shuffledp.errors import UnsupportedModelError
from shuffledp.leakage import Comparison, Vulnerability, Way, compare_ways, wording, worst_exchange_vulnerability
from shuffledp.models import FrequencyModel, ProtocolModel
from shuffledp.report.parts import Section
from shuffledp.report.words import count, count_of
from shuffledp.statements import Kind
from shuffledp.tasks import Outcome

__all__ = ["leakage_section"]

_MOST_VALUES = 64
_ADVERSARIES = ("uninformed", "strong")
_STYLES = {"randomizing": "randomizing", "shuffling": "shuffling", "both": "both"}
_NUMBERS = (
    "Not computed for numbers: how well one is guessed depends on what is believed of all possible ones, and on how "
    "near is near enough. What is promised about any two numbers is at the top of this page."
)
_TOO_MANY = "Not computed for this page: it would take long for {} answers."
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


def leakage_section(outcome: Outcome) -> Section:
    """Bars from 0 to 100 percent for each adversary, or one sentence on why there are none."""
    local = outcome.model.local
    if not isinstance(local, FrequencyModel):
        return _section(outcome, {"tables": [], "sentence": "", "why": _NUMBERS})
    try:
        if local.domain_size > _MOST_VALUES:
            return _section(outcome, {"tables": [], "sentence": "", "why": _TOO_MANY.format(count(local.domain_size))})
        found = _bounded(compare_ways(outcome.model, sampling=False, method="quick"), outcome.model.shuffle.kind)
    except UnsupportedModelError as error:
        return _section(outcome, {"tables": [], "sentence": "", "why": f"Not computed: {error}", "in_vain": True})
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
        "worst": _worst(outcome.model),
        "sentence": _written(wording.after_seeing(seen, wording.seen_in(outcome.model))) if seen else "",
    }
    return _section(outcome, context)


def _worst(model: ProtocolModel) -> str:
    """Of an imperfect shuffler of a known law: what is left if only its imperfection is as promised."""
    if model.shuffle.kind != "imperfect" or model.shuffle.is_uniform or not model.shuffle.position_laws():
        return ""
    found = worst_exchange_vulnerability(model)
    return _written(wording.change(found)[0])


def _command(outcome: Outcome) -> str:
    """What asks the library for more about this task."""
    task, options = outcome.task, ["shuffledp leakage TASK.toml"]
    if task.groups is not None:
        options.append("--input FILE")
    else:
        options.append(f"--users {outcome.model.num_users}")
    if len(outcome.statements[0].parts) > 1:
        options.append("--value COLUMN")  # perhaps one of several
    return " ".join(options)


def _section(outcome: Outcome, context: dict[str, object]) -> Section:
    local = outcome.model.local
    size = local.domain_size if isinstance(local, FrequencyModel) else 0
    common = {
        "why": "",
        "in_vain": not isinstance(local, FrequencyModel),
        "left_out": [],
        "worst": "",
        "command": _command(outcome),
        "answers": count(size),
        "people": count_of(outcome.model.num_users, "person", "people"),
        "shuffled": outcome.model.shuffle.kind != "none",
        "correlated": wording.CORRELATED,
        "share": _SHARE if len(outcome.statements[0].parts) > 1 else "",
        "withdrawn": any(statement.withdrawn for statement in outcome.release.statements),
    }
    return Section(name="leakage", title="What can be guessed about one person", context=common | context)


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
    alone = found.way("randomizing")
    most = None if alone is None else getattr(alone, adversary)
    known = [(way.name, each) for way in found.ways if (each := getattr(way, adversary)) is not None]
    return [before, *(_bar(name, each, most if name == "both" else None) for name, each in known)]


def _bar(name: str, found: Vulnerability, most: Vulnerability | None) -> Bar:
    """Drawn up to the upper end; what is as bad as randomizing only, ``most``, is written as that is."""
    relation, drawn = found.kind.relation, found.value
    share, note = wording.change(found)[0], {"exactly": "exact"}.get(relation, relation)
    if found.kind is Kind.LOWER_BOUND:
        share, note, drawn = wording.between(found), "lower and upper bound", found.upper
    elif most is not None and math.isclose(found.value, most.value, rel_tol=1e-12):
        share = wording.change(most)[0]
    return Bar(
        name=wording.NAMES[name],
        note=note,
        share=_written(share),
        before=f"{100 * found.prior:.2f}",
        more=f"{100 * (min(drawn, 1.0) - found.prior):.2f}" if drawn > found.prior else "",
        style=_STYLES[name],
    )


def _written(text: str) -> str:
    """With percentages as the rest of the page writes them."""
    return text.replace(" %", "%")
