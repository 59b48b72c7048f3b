"""Planning of walks: rounds, overlays, links with slots, and absences.

In reading order: `network_plan` with `planned_facts`, `network_rounds`, `constant_links`, `planned_churn`;
`overlay_designs`, `overlay_plan`.
"""
