"""Contacts of people who pass reports on, by design: overlays, and rounds in groups.

In reading order: `overlays`, `group_rounds`.
"""
