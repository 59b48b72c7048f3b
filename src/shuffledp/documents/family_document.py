"""Parts of pages that families of protocols add to plans and releases.

A family with words of its own has a subclass in its folder, behind the door ``document`` of its `Family`. Sections of
the kernel add nothing.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from shuffledp.documents.blocks import Block
from shuffledp.documents.document import Section
from shuffledp.protocols.family import families, family_of

if TYPE_CHECKING:
    from shuffledp.documents.plans.column_plan_document import ColumnPlanDocument
    from shuffledp.survey import ColumnOutcome, ColumnPlan, Plan


class FamilyDocument:
    """Parts of pages that a family adds for its shufflers and randomizers: none by default."""

    def release_sections(self, outcome: "ColumnOutcome") -> Iterable[Section | None]:
        """Sections that the family adds to a release, after the estimates."""
        del outcome
        return ()

    def flow_sentences(self, outcome: "ColumnOutcome") -> Iterable[str]:
        """Sentences about the way of the data, beside the drawn flow of a release."""
        del outcome
        return ()

    def plan_sections(self, plan: "Plan") -> Iterable[Section]:
        """Sections that the family adds to a plan, before the columns."""
        del plan
        return ()

    def stratum(self, plan: "Plan") -> str:
        """Noun for crowds that must each be large enough for a release; "" if there is only one crowd."""
        del plan
        return ""

    def plan_blocks(self, plan: "Plan", column: "ColumnPlan", *, table: bool) -> Iterable[Block]:
        """Blocks at the start of a column's plan; with ``table`` the long tables too."""
        del plan, column, table
        return ()

    def page_sections(self, plan: "Plan", column: "ColumnPlan") -> Iterable[Section | None]:
        """Sections that the family adds to the page of a plan, after the columns."""
        del plan, column
        return ()

    def column_plan(self, column: "ColumnPlan") -> "ColumnPlanDocument":
        """Document of the plan of a column whose randomizer is of the family."""
        from shuffledp.documents.plans.column_plan_document import ColumnPlanDocument

        return ColumnPlanDocument(column)


def documents_of_families() -> Iterable[FamilyDocument]:
    """Documents of all families that have a document of their own."""
    return [family.document()() for family in families() if family.document is not None]


def document_of(kind: str, section: object = None) -> FamilyDocument:
    """Document of the family of a shuffler or randomizer of this kind; an empty document without a family."""
    family = family_of(kind, section)
    if family is None or family.document is None:
        return FamilyDocument()
    found: FamilyDocument = family.document()()
    return found
