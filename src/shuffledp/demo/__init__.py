"""The embedded example: the synthetic survey Syn, and a task for it."""

from shuffledp.demo.syn import LABELS, is_survey, make_survey, write_survey

__all__ = ["LABELS", "is_survey", "make_survey", "write_survey"]
