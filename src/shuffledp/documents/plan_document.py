"""A plan in words: future statements, expected results of each column, and randomizers that would do better."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from shuffledp.accounting import SHARP_THEOREMS
from shuffledp.core.guarantees import DifferentialPrivacy, Guarantee
from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.blocks import DETAIL, Block, Column, Medium, Role, Table, Text, told
from shuffledp.documents.document import Document, Promise, Section
from shuffledp.documents.statement_document import promise_of
from shuffledp.documents.words import NO_CURATOR, NOTHING, all_or_nothing, little_shuffled, said_alone, small_sample
from shuffledp.planning.mechanism_choice import Option
from shuffledp.protocols.shares.survey.protocol_section import ProtocolPlan
from shuffledp.protocols.strata.documents.strata_document import strata_plan_section
from shuffledp.protocols.strata.survey.stratified_section import StrataPlan, StratifiedSection
from shuffledp.survey import ColumnPlan, Plan

if TYPE_CHECKING:
    from shuffledp.planning.people_needed import PeoplePlan
    from shuffledp.protocols.d_sigma.planning.group_mixing import GroupsPlan
    from shuffledp.protocols.network.planning.overlay_plan import WalksPlan

_READING = "(security_bits: the rounds are within 2^-security_bits of showing nothing but the noisy sum.)"


def plan_document(plan: Plan, *, table: bool = False) -> Document:
    """Statements first, then expected results; with ``table`` all numbers of rounds and all parts of a graph."""
    people = count_of(plan.num_users, "person", "people")
    promise, sections = promise_of(plan.statements, people), list[Section]()
    if plan.task.groups is not None and plan.of_shuffle is not None:
        from shuffledp.protocols.d_sigma.documents.mixing_document import groups_plan_section

        sections.append(groups_plan_section(cast("GroupsPlan", plan.of_shuffle), plan.task.groups))
    if isinstance(plan.of_shuffle, StrataPlan) and isinstance(plan.task.shuffler, StratifiedSection):
        sections.append(strata_plan_section(plan.of_shuffle, plan.task.shuffler, plan.num_users))
    sections.append(Section(anchor="dangers", title="", blocks=told(*plan.warnings, role=Role.DANGER)))
    for column in plan.columns:
        network, delta = cast("WalksPlan | None", column.of_shuffle), plan.task.release.delta
        walks = () if network is None else _walks(network, delta, column.chosen.report_bits, table=table)
        own = next(each for each in plan.task.columns if each.value == column.value)
        small = small_sample(own, plan.num_users, column.chosen.error)
        alone = said_alone(own.randomizer.randomizer().model)
        weighted = NO_CURATOR * (own.weight is not None)
        blocks = (*walks, *_column(column, " ".join(filter(None, [small, alone])), weighted))
        sections.append(Section(anchor=f"column-{column.value}", title=column.value, blocks=blocks))
    return Document(
        title=plan.task.name,
        digest=plan.task.sha256,
        promise=replace(
            promise, headline=(*told(*_people(plan)), *promise.headline), meaning=(*promise.meaning, *told(*_few(plan)))
        ),
        sections=tuple(sections),
    )


def _protocol_of(column: ColumnPlan) -> ProtocolPlan | None:
    """Plan of the column's protocol; None for a randomizer."""
    return column.of_question if isinstance(column.of_question, ProtocolPlan) else None


def _walks(plan: "WalksPlan", delta: float, bits: int | None, *, table: bool) -> tuple[Block, ...]:
    """Plan of walks, along graphs or on an overlay."""
    from shuffledp.protocols.network.documents.network_document import network_plan_blocks
    from shuffledp.protocols.network.documents.overlay_document import overlay_plan_blocks
    from shuffledp.protocols.network.planning.overlay_plan import OverlayPlan

    if isinstance(plan, OverlayPlan):
        return overlay_plan_blocks(plan, delta, bits)
    return network_plan_blocks(plan, delta, bits, table=table)


def _few(plan: Plan) -> Iterable[str]:
    """A warning if the shuffle takes next to nothing off the local loss, so that randomizing alone protects."""
    if plan.task.shuffler.kind == "none":
        return
    for column in plan.columns:
        said = little_shuffled(column.statements, plan.num_users)
        yield f"{column.value}: {said}" if said and len(plan.columns) > 1 else said


def _people(plan: Plan) -> Iterable[str]:
    """Limits on the number of people for a release, if there are any."""
    if all(column.of_question is None for column in plan.columns):
        section = plan.task.shuffler
        stratum = section.words if isinstance(section, StratifiedSection) else ""
        yield all_or_nothing(plan.task.release.minimum_batch, plan.task.people.expected or plan.num_users, stratum)
    for column in plan.columns:
        protocol = _protocol_of(column)
        if protocol is None:
            continue
        least, most = protocol.least_people, plan.task.people.expected or plan.num_users
        numbers = f"exactly {most:,}" if least == most else f"{least:,} to {most:,}"
        yield (
            f"{column.value} is released only if {numbers} people answer: with fewer the noise would be too little "
            f"({most - least:,} may stay away, see dropout_fraction), and for more there is no room."
        )


def what_to_expect(column: ColumnPlan) -> str:
    """One person's message, and the expected error of the estimates."""
    chosen, protocol = column.chosen, _protocol_of(column)
    # The error from rounding depends on the values: only its maximum is known.
    about = "at most" if protocol is not None and _rounds(protocol, chosen) else "about"
    error = in_digits(chosen.error.standard_error, about, digits=3)
    return (
        f"{column.value}: {_sent(column)} by {chosen.kind}. For {chosen.error.at} the standard error will be "
        f"{about} {error}, beside {chosen.error.sampling_error:.3g} from sampling people."
    )


def beside_curator(column: ColumnPlan) -> str:
    """The error beside that of a trusted curator with the same loss; "" without one."""
    curator, protocol = column.curator, _protocol_of(column)
    if curator is None:
        return ""
    about = "at most" if protocol is not None and _rounds(protocol, column.chosen) else ""
    ratio = in_digits(column.chosen.error.standard_error / curator.standard_error, about, digits=3)
    return (
        f"A trusted curator who adds {curator.mechanism} of the same epsilon and delta would have a standard error of "
        f"{curator.standard_error:.3g}; yours is {f'{about} ' * bool(about)}{ratio} x that."
    )


def _column(column: ColumnPlan, further: str, no_curator: str) -> Iterable[Block]:
    """Expected results of a column, and those of other randomizers; ``no_curator`` is why none stands beside them."""
    chosen, protocol = column.chosen, _protocol_of(column)
    yield Text(" ".join(filter(None, [what_to_expect(column), further])))
    if protocol is not None:
        yield from _protocol(protocol)
    rounding = "" if protocol is None else _rounding(protocol, chosen)
    yield from told(" ".join(filter(None, [rounding, beside_curator(column) or no_curator])))
    yield Text(_advice(column, chosen), on=DETAIL if protocol else Medium.BOTH)
    yield _options(column, chosen)
    yield from told(_beside(column), role=Role.NOTE, on=DETAIL)
    yield from told(*(f"  {each.kind} cannot: {each.reason}" for each in column.unfit), role=Role.NOTE, on=DETAIL)


def _sent(column: ColumnPlan) -> str:
    """One person's message, in words."""
    bits, protocol = column.chosen.report_bits, _protocol_of(column)
    if protocol is not None:
        messages = protocol.certificate.num_messages
        return f"{messages:,} messages, {bits:,} bits per person,"
    return "reports of varying size" if bits is None else f"reports of {count_of(bits, 'bit')}"


def _protocol(protocol: ProtocolPlan) -> Iterable[Block]:
    """The certificate: messages, security and guarantee."""
    found = protocol.certificate
    each = "" if found.dimension == 1 else f" ({found.num_shares:,} for each of {found.dimension:,} coordinates)"
    yield from told(
        "Before shuffling a person's messages guarantee nothing: whoever sees all of them adds up the answer."
    )
    yield from told(
        f"Certificate: num_messages = {found.num_messages:,}{each}, modulus = {found.modulus:,}, precision = "
        f"{found.precision:,}, security_bits = {math.floor(10 * found.security_bits) / 10:,.1f}; epsilon = "
        f"{in_digits(found.epsilon, 'at most')} with delta = {in_digits(found.delta, 'at most')}, for imperfection "
        f"{found.imperfection:g} in all rounds but one.",
        on=DETAIL,
    )
    yield Text(_READING, Role.NOTE, on=DETAIL)


def _rounds(protocol: ProtocolPlan, chosen: Option) -> bool:
    return chosen.error.standard_error > protocol.noise_error


def _rounding(protocol: ProtocolPlan, chosen: Option) -> str:
    """Error by rounding to a grid, and the price of a finer grid."""
    if not _rounds(protocol, chosen):
        return "Nothing is rounded."
    more = in_digits(100 * (chosen.error.standard_error / protocol.noise_error - 1), "at most", digits=3)
    return (
        f"Rounding to {protocol.certificate.precision:,} steps adds at most {more}% to the error; twice the "
        "precision costs one bit a message."
    )


def _advice(column: ColumnPlan, chosen: Option) -> str:
    """Whether another randomizer has a smaller error; beside a protocol, that others differ in central loss."""
    protocol = _protocol_of(column)
    if protocol is not None and len(column.options) == 1:
        return "There is no randomizer for such answers to stand beside it."
    if protocol is not None:
        return (
            f"Beside randomizers whose every report guarantees epsilon = {protocol.certificate.epsilon:g} by "
            'itself. Shuffled like yours they lose what the column "epsilon" says; with as much to lose as yours they '
            "would err no more than this, and mostly far less."
        )
    best = column.options[0]
    if best.error.standard_error >= chosen.error.standard_error:
        return "No randomizer for such answers has a smaller standard error than yours."
    less = 1 - best.error.standard_error / chosen.error.standard_error
    return f"{best.kind} would have a standard error that is {less:.1%} smaller."


def _options(column: ColumnPlan, chosen: Option) -> Table:
    """The randomizers that fit the task, in ascending order of error."""
    rows, curator = [], column.curator
    if curator is not None:
        error, ratio = curator.standard_error, curator.standard_error / chosen.error.standard_error
        losses = ("unknown" if chosen.central is None else _epsilon(chosen.central, "at most"), "none")
        rows.append((f"trusted curator ({curator.mechanism})", NOTHING, f"{error:.3g}", f"{ratio:.3g} x", *losses))
    own = frozenset(len(rows) + place for place, option in enumerate(column.options) if option.chosen)
    for option in column.options:
        ratio = option.error.standard_error / chosen.error.standard_error
        rows.append(
            (
                f"{option.kind}{' (yours)' if option.chosen else ''}",
                "varies" if option.report_bits is None else f"{option.report_bits:,}",
                f"{option.error.standard_error:.3g}",
                "" if option.chosen else f"{ratio:.3g} x",
                "unknown" if option.central is None else _epsilon(option.central, "at most"),
                _epsilon(option.local, "exactly"),
            )
        )
    heads = (Column("randomizer", left=True), *map(Column, ("bits", "error", "vs yours", "epsilon", "local")))
    return Table("", heads, tuple(rows), own=own, on=DETAIL)


def _beside(column: ColumnPlan) -> str:
    """Note that the other randomizers' losses lack a bound that takes seconds, where the task's own is by one."""
    costly = {each.id for each in SHARP_THEOREMS if each.is_costly}
    if len(column.options) == 1 or column.statements[0].basis.theorem not in costly:
        return ""
    return (
        f"(Your epsilon, of {column.chosen.kind}, is by a bound that takes seconds. The epsilons of the others leave "
        "that bound out, and could be less with it.)"
    )


def _epsilon(guarantee: Guarantee, relation: str) -> str:
    """Epsilon of a guarantee; the name of a guarantee without epsilon."""
    if not isinstance(guarantee, DifferentialPrivacy):
        return guarantee.type
    return "none" if guarantee.is_trivial else in_digits(guarantee.epsilon, relation)


# ---- people for a wanted error


def people_document(plan: "PeoplePlan") -> Document:
    """The number of people first, then alternatives, and the lines for the task."""
    best, target = plan.options[0], plan.target_epsilon
    wanted = f"+-{plan.half_width:g} at {best.level:.0%}"
    loss = "" if target is None else f" and epsilon at most {target:g} (delta {best.delta:g})"
    headline = Text(
        f"{best.num_users:,} people for {wanted}{loss}: {best.kind} with epsilon0 = {best.epsilon0:.3g}, and then "
        f"epsilon <= {in_digits(best.epsilon, 'at most')} for everything released.",
        Role.LEAD,
    )
    about = (
        f"Intervals are for {best.at}, about these people themselves; about a population that they are a random sample "
        f"of, it takes {best.num_sampled:,}."
    )
    rows = tuple(
        (
            each.kind,
            f"{each.num_users:,}",
            f"{each.num_sampled:,}",
            f"{each.epsilon0:.3g}",
            in_digits(each.epsilon, "at most"),
            "varies" if each.report_bits is None else f"{each.report_bits:,}",
        )
        for each in plan.options
    )
    heads = (Column("randomizer", left=True), *map(Column, ("people", "of a sample", "epsilon0", "epsilon", "bits")))
    table = (Table("", heads, rows, own=frozenset({0})),) if len(rows) > 1 else ()
    lines = told(
        "For the task file:",
        f"  [people]      expected = {best.num_users}",
        f'  [randomizer]  kind = "{best.kind}", epsilon0 = {best.epsilon0:.3g}',
        role=Role.PATH,
    )
    blocks = (*told(about), *table, *(lines if target is not None else ()))
    promise = Promise(title="People needed", headline=(headline,))
    return Document(promise=promise, sections=(Section(anchor="people", title="People", blocks=blocks),))
