"""What the papers measured, measured again: ``python -m experiments.NAME`` from a source checkout. Not installed."""
