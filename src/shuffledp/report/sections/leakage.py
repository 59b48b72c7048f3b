"""How often a guess about one person is right, before and after each part of the protocol, for two adversaries."""

from dataclasses import dataclass

from shuffledp.errors import UnsupportedModelError
from shuffledp.leakage import Comparison, Vulnerability, compare_ways, wording
from shuffledp.models import FrequencyModel
from shuffledp.report.parts import Section
from shuffledp.report.words import count, count_of
from shuffledp.tasks import Outcome

__all__ = ["leakage_section"]

_MOST_VALUES = 64
_STYLES = {"randomizing": "randomizing", "shuffling": "randomizing", "both": "both"}
_SHARE = "All of this is about this release of this column alone; the other releases tell more."


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """How often the guess is right in one case, and how long its bar is in percent."""

    name: str
    note: str
    share: str
    length: str
    style: str


def leakage_section(outcome: Outcome) -> Section | None:
    """Bars from 0 to 100 percent for each adversary; None where reports are no table of answers."""
    local = outcome.model.local
    if not isinstance(local, FrequencyModel):
        return None
    try:
        if local.domain_size > _MOST_VALUES:
            raise UnsupportedModelError(f"it takes too long for {local.domain_size} answers.")
        found = compare_ways(outcome.model, sampling=False, method="quick")
    except UnsupportedModelError as error:
        return _section(outcome, {"tables": [], "left_out": [str(error)], "sentence": "", "prior": ""})
    both = found.way("both")
    seen = both.uninformed if both else None
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
        "prior": f"{100 * found.prior:.2f}",
    }
    return _section(outcome, context)


def _section(outcome: Outcome, context: dict[str, object]) -> Section:
    local = outcome.model.local
    size = local.domain_size if isinstance(local, FrequencyModel) else 0
    common = {
        "answers": count(size),
        "people": count_of(outcome.model.num_users, "person", "people"),
        "correlated": wording.CORRELATED,
        "share": _SHARE if len(outcome.statements[0].parts) > 1 else "",
        "withdrawn": any(statement.withdrawn for statement in outcome.release.statements),
    }
    return Section(name="leakage", title="What can be guessed about one person", context=context | common)


def _bars(found: Comparison, adversary: str) -> list[Bar]:
    before = Bar(
        name="Before",
        note="nothing has been seen",
        share=_written(wording.as_share(found.prior)),
        length=f"{100 * found.prior:.2f}",
        style="sampling",
    )
    known = [(way.name, each) for way in found.ways if (each := getattr(way, adversary)) is not None]
    return [before, *(_bar(name, each) for name, each in known)]


def _bar(name: str, found: Vulnerability) -> Bar:
    relation = found.kind.relation
    return Bar(
        name=wording.NAMES[name],
        note={"exactly": "exact"}.get(relation, relation),
        share=_written(wording.change(found)[0]),
        length=f"{100 * min(found.value, 1.0):.2f}",
        style=_STYLES[name],
    )


def _written(text: str) -> str:
    """With percentages as the rest of the page writes them."""
    return text.replace(" %", "%")
