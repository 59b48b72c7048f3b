"""Analyzers: from a view to an estimate with its error."""

from shuffledp.analyzers.frequencies import FrequencyAnalyzer, FrequencySummary, project_to_simplex

__all__ = ["FrequencyAnalyzer", "FrequencySummary", "project_to_simplex"]
