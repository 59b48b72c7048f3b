"""Contacts of walks by design: overlays, and rounds in groups."""
