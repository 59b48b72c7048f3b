"""Contacts of walks by design: overlays, and rounds in groups.

In reading order: `overlays`, `group_rounds`.
"""
