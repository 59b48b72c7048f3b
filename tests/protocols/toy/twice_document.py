"""Pages about two shuffles: a section of a release and one of a plan, which say who shuffles."""

from collections.abc import Iterable

from shuffledp.documents.blocks import told
from shuffledp.documents.document import Section
from shuffledp.documents.family_document import FamilyDocument
from shuffledp.survey import ColumnOutcome, Plan


class TwiceDocument(FamilyDocument):
    """Parts of pages about two shuffles."""

    def release_sections(self, outcome: ColumnOutcome) -> Iterable[Section | None]:
        """Number of reports that both shuffled."""
        return [_section(f"Two operators shuffled {outcome.release.num_reports:,} reports, one after the other.")]

    def plan_sections(self, plan: Plan) -> Iterable[Section]:
        """Number of people whose reports both will shuffle."""
        return [_section(f"Two operators will shuffle the reports of {plan.num_users:,} people.")]


def _section(said: str) -> Section:
    return Section(anchor="twice", title="Shuffled twice", blocks=told(said))
