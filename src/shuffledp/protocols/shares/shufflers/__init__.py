"""Imperfect shuffles, and one shuffle for each message.

In reading order: `imperfect`, `parallel`.
"""
