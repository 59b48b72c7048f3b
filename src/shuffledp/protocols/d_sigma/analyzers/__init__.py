"""Analyzers of views whose labels are slots: estimates by region, and the preservation of groups.

In reading order: `regional` (estimates by place), `sharpened_regions`; `group_preservation` (reports that stay);
`box_filter` and `learned_laws` (answers near each person).
"""
