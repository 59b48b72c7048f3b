"""Analyzers: from a view to an estimate with its error.

In reading order: frequencies, exact_intervals (of few reports), means, sums (of split and mix), regional (frequencies
at places), preservation (how much of a group's answers stays in its slots).
"""

from shuffledp.analyzers.frequencies import FrequencyAnalyzer, FrequencySummary, project_to_simplex
from shuffledp.analyzers.means import MeanAnalyzer, MeanSummary
from shuffledp.analyzers.preservation import Preservation, exact_means, preservation
from shuffledp.analyzers.regional import RegionalAnalyzer, RegionalSummary
from shuffledp.analyzers.sums import ShareSummary, SumAnalyzer

__all__ = [
    "FrequencyAnalyzer",
    "FrequencySummary",
    "MeanAnalyzer",
    "MeanSummary",
    "Preservation",
    "RegionalAnalyzer",
    "RegionalSummary",
    "ShareSummary",
    "SumAnalyzer",
    "exact_means",
    "preservation",
    "project_to_simplex",
]
