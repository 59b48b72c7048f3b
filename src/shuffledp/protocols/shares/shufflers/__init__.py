"""Imperfect shuffles, and one shuffle for each message."""
