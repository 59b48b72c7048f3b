"""Analyzers: from a view to an estimate with its error."""

from shuffledp.analyzers.frequencies import FrequencyAnalyzer, FrequencySummary, project_to_simplex
from shuffledp.analyzers.means import MeanAnalyzer, MeanSummary

__all__ = ["FrequencyAnalyzer", "FrequencySummary", "MeanAnalyzer", "MeanSummary", "project_to_simplex"]
