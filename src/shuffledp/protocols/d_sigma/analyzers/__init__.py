"""Analyzers of views whose labels are slots: estimates by region, and the share of reports that stay in their group."""
