"""Analyzers of views with places: regions, and the preservation of groups."""
