"""Estimates by place from files.

In reading order: `group_files` (views by groups), `regions`, `sharpened_places`, `naming_chances` (of people after a
release); `pilots`.
"""
