"""Shufflers near a public reference order: Mallows and noisy sort."""
