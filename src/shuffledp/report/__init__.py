"""Pictures and pages: a release as something that people want to look at, in one file that needs nothing else."""

from shuffledp.report.audit_page import is_audit_page, write_audit_page
from shuffledp.report.buys import ENDINGS, draw_bounds
from shuffledp.report.page import write_joint_page, write_page
from shuffledp.report.sections.statement import Guess

__all__ = ["ENDINGS", "Guess", "draw_bounds", "is_audit_page", "write_audit_page", "write_joint_page", "write_page"]
