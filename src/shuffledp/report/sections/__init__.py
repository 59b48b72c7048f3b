"""The sections of the page in their order. A new one is a module and a template here, and one more line."""

from collections.abc import Callable

from shuffledp.report.parts import Section
from shuffledp.report.sections.accounting import accounting_section
from shuffledp.report.sections.beside import beside_section
from shuffledp.report.sections.column import column_section
from shuffledp.report.sections.errors import errors_section
from shuffledp.report.sections.estimates import estimates_section
from shuffledp.report.sections.flow import flow_section
from shuffledp.report.sections.groups import groups_section
from shuffledp.report.sections.leakage import leakage_section
from shuffledp.report.sections.network import network_section
from shuffledp.report.sections.places import places_section
from shuffledp.report.sections.reproduction import reproduction_section
from shuffledp.report.sections.statement import statement_section
from shuffledp.tasks import Outcome

__all__ = ["SECTIONS", "column_section", "reproduction_section", "statement_section"]

SECTIONS: tuple[Callable[[Outcome], Section | None], ...] = (
    statement_section,
    flow_section,
    estimates_section,
    places_section,
    groups_section,
    network_section,
    errors_section,
    beside_section,
    accounting_section,
    leakage_section,
    reproduction_section,
)
