"""Analyzers of views with places: estimates by region, and the share of reports that stay in their group."""
