"""A plan on the terminal: what will be stated, and a table of the randomizers that could do the task."""

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shuffledp._numerals import in_digits
from shuffledp.calibrate import SplitAndMixCertificate
from shuffledp.cli.groups_screen import show_groups
from shuffledp.cli.network_screen import show_network
from shuffledp.cli.screen import print_json, show_statements
from shuffledp.guarantees import DifferentialPrivacy, Guarantee
from shuffledp.tasks import ColumnPlan, Option, Plan, ProtocolPlan

__all__ = ["show_plan"]

_SAYS_NOTHING = "says nothing at this size"
_READING = (
    "(security_bits: the rounds are within 2^-security_bits of showing nothing but the noisy sum. The lemmas are those "
    "of Ghazi et al. 2023, one as printed and one with its algebra done again. The rule of thumb only counts single "
    "people whose messages stay apart from all others, and proves nothing.)"
)


def show_plan(plan: Plan, *, as_json: bool, table: bool = False) -> None:
    """The statement first, then for each column what to expect, and which randomizer would do better."""
    if as_json:
        print_json(plan.to_dict())
        return
    console = Console(highlight=False)
    console.print(Text(plan.task.name, style="bold"), f"(task {plan.task.sha256[:12]})")
    console.print(f"Planned for {plan.num_users:,} people; nothing has been collected.")
    show_statements(console, plan.statements)
    if plan.groups is not None and plan.task.groups is not None:
        show_groups(console, plan.groups, plan.task.groups)
    for warning in plan.warnings:
        console.print(Text(f"WARNING: {warning}", style="bold red"))
    for column in plan.columns:
        if column.network is not None:
            show_network(console, column.network, plan.task.release.delta, column.chosen.report_bits, table=table)
        _show_column(console, column)


def _show_column(console: Console, column: ColumnPlan) -> None:
    chosen = column.chosen
    console.print(
        Text(
            f"{column.value}: {_sent(column)} by {chosen.kind}. For {chosen.error.at} the standard error will be "
            f"{_about(column)} {chosen.error.standard_error:.3g}, beside {chosen.error.sampling_error:.3g} from "
            "sampling people."
        )
    )
    if column.protocol is not None:
        _show_protocol(console, column.protocol, chosen)
    console.print(Text(_advice(column, chosen)))
    console.print(_table(column, chosen))
    for each in column.unfit:
        console.print(Text(f"  {each.kind} cannot: {each.reason}", style="dim"))


def _sent(column: ColumnPlan) -> str:
    """What one person sends."""
    bits = column.chosen.report_bits
    if column.protocol is not None:
        messages = column.protocol.certificate.num_messages
        return f"{messages:,} messages, {bits:,} bits per person,"
    return "reports of varying size" if bits is None else f"reports of {bits:,} bit{'s' * (bits > 1)}"


def _show_protocol(console: Console, protocol: ProtocolPlan, chosen: Option) -> None:
    """The certificate, what others would have said, and the error beside that of a trusted curator."""
    found = protocol.certificate
    each = "" if found.dimension == 1 else f" ({found.num_shares:,} for each of {found.dimension:,} coordinates)"
    lines = [
        "Before shuffling a person's messages guarantee nothing: whoever sees all of them adds up the answer.",
        f"Certificate: num_messages = {found.num_messages:,}{each}, modulus = {found.modulus:,}, precision = "
        f"{found.precision:,}, security_bits = {math.floor(10 * found.security_bits) / 10:,.1f}; epsilon = "
        f"{in_digits(found.epsilon, 'at most')} with delta = {in_digits(found.delta, 'at most')}, for imperfection "
        f"{found.imperfection:g} in all rounds but one.",
        f"With fewer than {protocol.least_people:,} people nothing is released (see dropout_fraction).",
        f"Messages for each number, {found.num_shares:,} here; others would have said:",
    ]
    console.print(Text("\n".join(lines)))
    console.print(_table_of_counts(found))
    console.print(Text(_READING, style="dim"))
    ratio = chosen.error.standard_error / protocol.central_error
    most = "at most " if _rounds(protocol, chosen) else ""
    console.print(
        Text(
            f"{_rounding(protocol, chosen)}A trusted curator who adds Laplace noise of this epsilon would have a "
            f"standard error of {protocol.central_error:.3g}; yours is {most}{ratio:.3g} x that."
        )
    )


def _about(column: ColumnPlan) -> str:
    """What rounding adds depends on the values: only the most of it is known."""
    return "at most" if column.protocol is not None and _rounds(column.protocol, column.chosen) else "about"


def _rounds(protocol: ProtocolPlan, chosen: Option) -> bool:
    return chosen.error.standard_error > protocol.noise_error


def _rounding(protocol: ProtocolPlan, chosen: Option) -> str:
    """What the grid costs, and what less of it would."""
    if not _rounds(protocol, chosen):
        return "Nothing is rounded. "
    more = math.ceil(1e4 * (chosen.error.standard_error / protocol.noise_error - 1)) / 1e4
    return (
        f"Rounding to {protocol.certificate.precision:,} steps adds at most {more:.2%} to the error; twice the "
        "precision costs one bit a message. "
    )


def _table_of_counts(found: SplitAndMixCertificate) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="left", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, count in (
        ("  Lemma 4.13 as printed", found.printed_lemma_13),
        ("  Lemma 4.12, algebra redone", found.lemma_12),
        ("  for perfect shuffles (Balle et al.)", found.perfect_shuffle),
        ("  rule of thumb, which is no bound", found.rule_of_thumb),
    ):
        table.add_row(name, _SAYS_NOTHING if count is None else f"{count:,}")
    return table


def _advice(column: ColumnPlan, chosen: Option) -> str:
    """Whether another randomizer errs less; of a protocol, that the others are not of its central loss."""
    if column.protocol is not None and len(column.options) == 1:
        return "There is no randomizer for such answers to stand beside it:"
    if column.protocol is not None:
        return (
            f"Beside randomizers whose every report guarantees epsilon = {column.protocol.certificate.epsilon:g} by "
            'itself. Shuffled like yours they lose what the column "epsilon" says; with as much to lose as yours they '
            "would err no more than this, and mostly far less:"
        )
    best = column.options[0]
    if best.error.standard_error >= chosen.error.standard_error:
        return "No other randomizer would have a smaller standard error:"
    less = 1 - best.error.standard_error / chosen.error.standard_error
    return f"{best.kind} would have a standard error that is {less:.1%} smaller:"


def _table(column: ColumnPlan, chosen: Option) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("randomizer", "bits", "error", "vs yours", "epsilon", "local"):
        table.add_column(name, justify="right", no_wrap=True)
    table.columns[0].justify = "left"
    for option in column.options:
        ratio = option.error.standard_error / chosen.error.standard_error
        table.add_row(
            f"{option.kind}{' (yours)' if option.chosen else ''}",
            "varies" if option.report_bits is None else f"{option.report_bits:,}",
            f"{option.error.standard_error:.3g}",
            "" if option.chosen else f"{ratio:.3g} x",
            "unknown" if option.central is None else _epsilon(option.central, "at most"),
            _epsilon(option.local, "exactly"),
            style="bold" if option.chosen else "",
        )
    return table


def _epsilon(guarantee: Guarantee, relation: str) -> str:
    """The number of a guarantee that is a matter of epsilon; the name of any other."""
    if not isinstance(guarantee, DifferentialPrivacy):
        return guarantee.type
    if guarantee.is_trivial:
        return "none"
    return in_digits(guarantee.epsilon, relation)
