"""Documents of a protocol's privacy loss, computed without data: promise, bounds on epsilon, theorems."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shuffledp.accounting import THEOREMS, Bracket, Examination, Finding, Theorem, epsilon_of
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import DifferentialPrivacy
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.lone_reports import lone_guess
from shuffledp.core.statement_terms import Status
from shuffledp.core.text import count_of, in_digits, shown_relation
from shuffledp.core.validate import one_of
from shuffledp.documents.blocks import DETAIL, PAGE, TERMINAL, Block, Cell, Column, Picture, Role, Table, Text, told
from shuffledp.documents.document import Document, Promise, Section
from shuffledp.documents.statement_document import facts_of, meaning_in_short, said_first, trust_in_short, with_loss
from shuffledp.documents.words import NOTHING, count, number, said_alone, sent
from shuffledp.randomizers import family_of

if TYPE_CHECKING:
    from shuffledp.documents.charts.curves import Curve, Curves
    from shuffledp.planning.calibrate import Calibration
    from shuffledp.survey import ColumnOutcome

_SHARE = "All of this is about this release of this column alone: a part of what is promised above for all together."
_SMALLEST = "The people counted here are those of the smallest stratum, who are hidden least."
ENDINGS = (".html", ".svg")
_FIGURE = "How much shuffling buys"
_SOLVED = {
    "epsilon0": "The largest local loss that leads there is epsilon0 = {}.",
    "num_users": "The fewest people that lead there are {}.",
}


def account_document(found: Examination) -> Document:
    """Document of a protocol's promise and bounds on epsilon, with all theorems if they were asked for."""
    return Document(promise=_promise(found), sections=(_theorems(found),) if found.theorems else ())


def bracket_document(found: Bracket) -> Document:
    """Document with the lower and the upper bound on epsilon, and the theorem behind each."""
    sides = (("at least", found.lower, found.lower_basis), ("at most", found.upper, found.upper_basis))
    rows = tuple(
        (Cell(text=side, before="epsilon"), Cell(text=in_digits(value, side), bold=True), basis.theorem, basis.citation)
        for side, value, basis in sides
        if basis is not None
    )
    heads = (Column("", left=True), Column("Value"), Column("Theorem", left=True), Column("Source", left=True))
    table = Table("Between what no theorem can beat, and what is promised", heads, rows, look="")
    return Document(sections=(Section(anchor="bracket", title="", blocks=(table,)),))


def calibration_document(solved: "Calibration") -> Document:
    """Document of a calibration: the solved parameter first, then the privacy statement that holds with it."""
    value = f"{solved.value:,}" if solved.solved == "num_users" else in_digits(solved.value, "at least", digits=6)
    wanted = Text(f"Wanted: epsilon = {solved.target_epsilon:g}. {_SOLVED[solved.solved].format(value)}")
    promise = _promise(solved.found)
    local, loss = solved.found.model.local, f"{solved.found.model.local.epsilon0:g}"
    facts = (f"{value} users", *facts_of(solved.statement), f"epsilon0 = {loss} each")
    if solved.solved == "epsilon0":
        loss = value
        facts = (
            f"epsilon0 = {value}",
            *facts_of(solved.statement),
            count_of(solved.found.counted.shuffle.num_honest, "report"),
        )
    alone = told(said_alone(local))
    if (guess := lone_guess(local)) is not None and guess.warning:
        alone = told(guess.danger(loss), role=Role.DANGER)
    return Document(promise=replace(promise, facts=facts, headline=(wanted, *promise.headline, *alone)))


def _promise(found: Examination) -> Promise:
    """Promise of an account: the privacy statement, its meaning, and its distance from the best possible epsilon."""
    details = list[str]()
    if found.releases == 1 and 1 < found.amplification < math.inf:
        local, factor = in_digits(found.model.local.epsilon0, ""), in_digits(found.amplification, "at least", digits=3)
        details.append(
            f"One report by itself has epsilon0 = {local}; shuffling {found.counted.num_users:,} of them divides that "
            f"by {factor}."
        )
    if math.isinf(found.model.local.epsilon0):
        details.append("One report by itself is not locally private (epsilon0 is infinite): only the shuffle protects.")
    of_orders: tuple[Block, ...] = ()
    if found.renyi is not None:
        brief = found.renyi.sentence_of(found.renyi.guarantee)
        of_orders = (Text(brief, on=TERMINAL), Text(str(found.renyi), on=DETAIL))
    return Promise(
        title="What is promised",
        facts=(*facts_of(found.upper), *_protocol_of(found)),
        headline=(*said_first(found.upper), Text(found.upper.explain(), on=DETAIL)),
        meaning=meaning_in_short(found.upper),
        trust=trust_in_short(found.upper),
        grounds=(
            Text(bracket_of(found), on=DETAIL if found.slack is None else TERMINAL),
            *told(*details, on=DETAIL),
            *of_orders,
        ),
    )


def _protocol_of(found: Examination) -> tuple[str, ...]:
    """Facts about a protocol in words: number of reports, local loss, and number of releases."""
    model = found.counted
    counted = with_loss(sent(model, model.num_senders * model.local.num_messages), model.local.guarantee)
    return (counted, f"{found.releases} releases") if found.releases > 1 else (counted,)


def bracket_of(found: Examination) -> str:
    """Lower and upper bound on the best possible epsilon, in words."""
    if _is_local_loss(found):
        upper = in_digits(found.epsilon_upper, "exactly")
        return f"Epsilon is exactly {upper} for delta = 0: nothing is shuffled, and each report keeps its own loss."
    if found.epsilon_lower is None or found.slack is None:
        upper = in_digits(found.epsilon_upper, "at most")
        return f"Epsilon is at most {upper}; how much smaller the best possible one is, no theorem says."
    return best_possible(found.epsilon_lower, found.epsilon_upper, found.slack)


def _is_local_loss(found: Examination) -> bool:
    """Whether the promised epsilon is the exact local loss of an unshuffled report."""
    unshuffled, local = found.model.shuffle.kind == "none", found.model.local
    same = isinstance(found.upper.guarantee, DifferentialPrivacy) and found.upper.guarantee.delta == 0
    return unshuffled and same and found.epsilon_upper == local.epsilon0 < math.inf and not local.is_idealized


def best_possible(lower: float, upper: float, slack: float) -> str:
    """Sentence with bounds on the best possible epsilon, and on the stated epsilon's ratio to the best."""
    return (
        f"The best possible epsilon is between {in_digits(lower, 'at least')} and {in_digits(upper, 'at most')}: "
        f"what is stated is at most {in_digits(slack, 'at most')} times the best possible."
    )


def _theorems(found: Examination) -> Section:
    """Section of all theorems, with epsilons or reasons of failure, and the limit of many people."""
    stated = {statement.basis.theorem for statement in found.statements}
    apply = [each for each in found.theorems if each.epsilon is not None]
    others = [each for each in found.theorems if each.epsilon is None]
    own = frozenset(place for place, each in enumerate(apply) if each.theorem in stated)
    slack = "" if found.slack is None else f"upper / lower = {in_digits(found.slack, 'at most', digits=7)}"
    blocks = (
        *told("For one release each:" if found.releases > 1 else ""),
        _listed(apply, own),
        *told(f"{count_of(len(others), 'theorem')} more do not apply here; -v says why." if others else ""),
        *([replace(_listed(others), on=DETAIL)] if others else []),
        *told(slack, _limit(found)),
    )
    return Section(anchor="theorems", title="Every theorem", blocks=blocks)


def _listed(findings: Sequence[Finding], own: frozenset[int] = frozenset()) -> Table:
    """Table with the result of each theorem, one row each."""
    columns = (Column("theorem", left=True), Column("epsilon"), Column("", left=True, folds=True))
    return Table("", columns, tuple((each.theorem, *_what(each)) for each in findings), own=own)


def _what(finding: Finding) -> tuple[str, str]:
    """Epsilon in words, and the theorem's source or the reason why the theorem does not apply."""
    own = "; proven in this project" if finding.status is Status.OWN_PROOF else ""
    source = finding.reasons[0] if finding.reasons else f"{finding.citation}{own}"
    if finding.epsilon is None:
        return "-", source
    sign = {"at most": "<=", "at least": ">="}.get(finding.kind.relation, "")
    return f"{sign} {in_digits(finding.epsilon, finding.kind.relation)}", source


def _limit(found: Examination) -> str:
    """The protocol's limit for many people, in words; "" if the limit is unknown."""
    if found.limit is None:
        return ""
    mu = _from_to(found.limit.mu_lower, found.limit.mu_upper)
    epsilon = _from_to(found.limit.lower, found.limit.upper)
    start = "For one release, the" if found.releases > 1 else "The"
    return (
        f"{start} limit of many people is a Gaussian mechanism; for {found.counted.num_users:,} it would have mu {mu}, "
        f"so epsilon {epsilon}. (To compare with, not a bound.)"
    )


def _from_to(lower: float, upper: float) -> str:
    if lower == 0:
        return f"of at most about {in_digits(upper, 'at most')}"
    if math.isclose(lower, upper, rel_tol=1e-4):
        return f"of about {upper:.4g}"
    return f"of about {lower:.4g} to {upper:.4g}"


# ---- every theorem over a range ------------------------------------------------------------------------------------


def theorems_table(curves: "Sequence[Curve]", caption: str) -> Table:
    """Table of theorems about a protocol: each result, and the fewest users for which the theorem applies."""
    rows = []
    for curve in curves:
        theorem = curve.theorem
        name = Cell(text=theorem.id, note=theorem.citation, code=True)
        if curve.here is None:
            when = f"from {count(curve.start)} users on" if curve.start else "no"
            rows.append((name, Cell(text=NOTHING), Cell(text=when, note=curve.reason)))
        else:
            relation = theorem.kind.relation
            shown = number(curve.here, relation)
            value = Cell(before=shown_relation(curve.here, shown, relation), text=shown, bold=True)
            rows.append((name, value, Cell(text="yes")))
    heads = (Column("Theorem"), Column("Epsilon"), Column("Applies"))
    return Table(caption, heads, tuple(rows), look="theorems", label="Table of theorems", on=PAGE)


def accounting_section(outcome: "ColumnOutcome") -> Section | None:
    """Section with a chart of the promised epsilon by number of people.

    None for groups, graphs, and an infinite local loss.
    """
    from shuffledp.documents.charts.curves import Curves
    from shuffledp.documents.charts.epsilon_charts import band_chart

    task, least = outcome.column, outcome.model.shuffle.worst_off
    people, whole = least.num_honest, least is outcome.model.shuffle
    if math.isinf(outcome.model.local.epsilon0) or task.shuffler.needs_groups or task.shuffler.needs_graph:
        return None
    fakes = outcome.model.fakes
    delta = task.release.delta

    def of_people(honest: int) -> ProtocolModel:
        if whole:
            return task.model(honest + fakes)
        return ProtocolModel(local=outcome.model.local, shuffle=cast(Any, replace)(least, num_users=honest))

    stated = outcome.release.statements[0]
    own = epsilon_of(stated.claimed or stated.guarantee)
    curves = replace(Curves.over_users(of_people, people=people, delta=delta, best_only=True), own=own)
    withdrawn = any(statement.withdrawn for statement in outcome.release.statements)
    flat = bool(np.ptp(curves.stated) == 0)
    blocks = (
        *told(_SHARE if len(outcome.statements[0].parts) > 1 else "", on=PAGE),
        *told("" if whole else _SMALLEST, on=PAGE),
        *_amplified(curves, people, flat=flat),
        Picture(band_chart(curves, name="accounting", who="this task", withdrawn=withdrawn), on=PAGE),
    )
    title = "Only the local guarantee" if flat else "More people, more privacy"
    return Section(anchor="accounting", title=title, blocks=blocks)


def _amplified(curves: "Curves", people: int, *, flat: bool) -> Iterable[Block]:
    """Texts on the effect of shuffling on the local loss."""
    epsilon0 = f"epsilon0 = {number(curves.epsilon0, 'exactly')}"
    if flat:
        local = f"Whatever the number of users, only the local guarantee of {epsilon0} is known to hold for this task."
        return told(local, on=PAGE)
    hides = f"The more people take part, the better they hide each other: one report by itself has {epsilon0}."
    place = list(curves.values).index(people)
    upper, lower = curves.stated_here, float(curves.unreachable[place])
    best = best_possible(lower, upper, upper / lower) if lower > 0 else ""
    return told(hides, best, on=PAGE)


def figure_of(found: Examination, ending: str, *, theorems: Sequence[Theorem] = THEOREMS) -> bytes:
    """Bytes of a file that draws theorems about one release against users, local loss and delta.

    A page (".html") has a table too; ".svg" is one picture of all panels. The last one is what is promised over the
    best possible, where a lower bound is among the theorems. Those that take seconds are drawn against the number of
    users alone. Refused where nobody loses anything, whatever changes.
    """
    from shuffledp.documents.charts.drawing import draw
    from shuffledp.documents.charts.epsilon_charts import stacked_chart
    from shuffledp.documents.page import page_of

    one_of(ENDINGS, figure=ending)
    panels = _panels(found, theorems)
    if ending == ".html":
        return page_of(_figure_document(found, panels))
    chart = stacked_chart(panels, name="bounds", title=_summary(found) + _one_release(found), who="here")
    return draw(chart).as_file(heading=_FIGURE)


def _figure_document(found: Examination, panels: "Sequence[Curves]") -> Document:
    """Document with the promise, one picture per panel, and every theorem."""
    from shuffledp.documents.charts.epsilon_charts import bounds_chart, has_ratios, ratio_chart

    pictures: list[Block] = []
    for curves in panels:
        chart = bounds_chart(curves, name=f"bounds-{curves.along}", who="here", releases=found.releases)
        pictures += [Text(chart.title, Role.HEADING), Picture(chart, has_files=False)]
    for curves in filter(has_ratios, panels):
        chart = ratio_chart(curves, name="ratios")
        pictures += [Text(chart.title, Role.HEADING), Picture(chart, has_files=False)]
    emphasized: tuple[Text, ...] = ()
    if found.slack is not None and found.epsilon_lower is not None:
        ends = in_digits(found.epsilon_lower, "at least"), in_digits(found.epsilon_upper, "at most")
        emphasized = (Text(bracket_of(found), bold=ends),)
    caption = f"What each theorem says about {count(found.counted.shuffle.num_honest)} users at delta = {found.delta:g}"
    blocks = (
        Text(found.upper.guarantee.text(found.upper.kind.relation), Role.LEAD),
        *emphasized,
        *pictures,
        theorems_table(panels[0].curves, caption + _one_release(found)),
    )
    sections = (Section(anchor="bounds", title="All theorems", blocks=blocks),)
    return Document(title=_FIGURE, kicker="Accounting, without any data", summary=_summary(found), sections=sections)


def _panels(found: Examination, theorems: Sequence[Theorem]) -> "tuple[Curves, ...]":
    """Panels of curves over users, local loss and delta, for each quantity that can change."""
    from shuffledp.documents.charts.curves import Curves

    model, wanted = found.counted, cast(dict[str, Any], {"delta": found.delta})
    describe = family_of(model.local)

    def with_users(users: int) -> ProtocolModel:
        return replace(model, shuffle=model.shuffle.of_people(users))

    panels = [Curves.over_users(with_users, people=model.num_users, theorems=theorems, **wanted)]
    wanted["theorems"] = [each for each in theorems if not each.is_costly]
    if describe is not None:
        panels.append(Curves.over_epsilon0(describe, model, **wanted))
    panels.append(Curves.over_delta(model, **wanted))
    own = epsilon_of(found.upper.guarantee) if found.releases == 1 else panels[0].stated_here
    drawn = tuple(replace(curves, own=own) for curves in panels if curves.drawn)
    if not drawn:
        raise InvalidParameterError(
            "figure must be left out where every epsilon is 0: there is nothing to draw; got a randomizer with "
            f"epsilon0={model.local.epsilon0:g}."
        )
    return drawn


def _summary(found: Examination) -> str:
    return (
        f"{found.model.local.kind}, epsilon0 = {number(found.model.local.epsilon0, 'exactly')}, "
        f"{count(found.counted.shuffle.num_honest)} users, delta = {found.delta:g}"
    )


def _one_release(found: Examination) -> str:
    """A note that the numbers are about one release, if the promise is about several; "" otherwise."""
    return ", for one release" if found.releases > 1 else ""
