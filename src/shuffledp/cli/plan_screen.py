"""A plan on the terminal: what will be stated, and a table of the randomizers that could do the task."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shuffledp._numerals import in_digits
from shuffledp.cli.groups_screen import show_groups
from shuffledp.cli.screen import print_json, show_statements
from shuffledp.guarantees import DifferentialPrivacy, Guarantee
from shuffledp.tasks import ColumnPlan, Option, Plan

__all__ = ["show_plan"]


def show_plan(plan: Plan, *, as_json: bool) -> None:
    """The statement first, then for each column what to expect, and which randomizer would do better."""
    if as_json:
        print_json(plan.to_dict())
        return
    console = Console(highlight=False)
    console.print(Text(plan.task.name, style="bold"), f"(task {plan.task.sha256[:12]})")
    console.print(f"Planned for {plan.num_users:,} people; nothing has been collected.")
    show_statements(console, plan.statements)
    if plan.groups is not None and plan.task.groups is not None:
        show_groups(console, plan.groups, plan.task.groups, plan.warnings)
    for column in plan.columns:
        _show_column(console, column)


def _show_column(console: Console, column: ColumnPlan) -> None:
    chosen = column.chosen
    size = (
        "of varying size"
        if chosen.report_bits is None
        else f"of {chosen.report_bits:,} bit{'s' * (chosen.report_bits > 1)}"
    )
    console.print(
        Text(
            f"{column.value}: reports {size} by {chosen.kind}. For {chosen.error.at} the standard error will be "
            f"about {chosen.error.standard_error:.3g}, beside {chosen.error.sampling_error:.3g} from sampling people."
        )
    )
    console.print(Text(_advice(column, chosen)))
    console.print(_table(column, chosen))
    for each in column.unfit:
        console.print(Text(f"  {each.kind} cannot: {each.reason}", style="dim"))


def _advice(column: ColumnPlan, chosen: Option) -> str:
    """Whether another randomizer errs less."""
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
    return in_digits(guarantee.epsilon, relation)
