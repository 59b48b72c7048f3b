"""Pictures and pages: a release as something that people want to look at, in one file that needs nothing else."""

from shuffledp.report.page import write_joint_page, write_page

__all__ = ["write_joint_page", "write_page"]
