"""The embedded example: the synthetic survey Syn, and a task for it."""

from shuffledp.demo.syn import LABELS, make_survey, write_survey

__all__ = ["LABELS", "make_survey", "write_survey"]
