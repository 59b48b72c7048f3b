"""Strata of people by public columns."""
