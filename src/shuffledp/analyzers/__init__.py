"""Analyzers: from a view to an estimate with its error."""

from shuffledp.analyzers.frequencies import FrequencyAnalyzer, FrequencySummary, project_to_simplex
from shuffledp.analyzers.learning import BoostedRegions, laws_in_groups, learnability_error, share_of_likeliest
from shuffledp.analyzers.means import MeanAnalyzer, MeanSummary
from shuffledp.analyzers.preservation import Preservation, exact_means, preservation
from shuffledp.analyzers.regional import RegionalAnalyzer, RegionalSummary
from shuffledp.analyzers.sums import ShareSummary, SumAnalyzer

__all__ = [
    "BoostedRegions",
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
    "laws_in_groups",
    "learnability_error",
    "preservation",
    "project_to_simplex",
    "share_of_likeliest",
]
