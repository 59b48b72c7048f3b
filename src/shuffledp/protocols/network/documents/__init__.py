"""Walks in words and pictures."""
