"""Numerical evaluation of bounds, from numbers alone: no models, no hypotheses."""
