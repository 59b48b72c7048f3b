"""Analyzers of views whose labels are slots: estimates by region, and the preservation of groups."""
