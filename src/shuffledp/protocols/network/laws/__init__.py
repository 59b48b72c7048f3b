"""Laws of walks with and without absences: positions of reports, loads of people, overlaps of positions.

In reading order: `walk` (its description), `walk_sampling`, `walk_distributions`, `walk_positions`, `walk_likeness` and
`typical_walks` over `walk_sweeps`; `walk_loads` and `overlay_loads` (reports held); `walk_collusion`; `link_slots`;
absences: `churn_schedules`, `churned_rounds`, `churn_likeness`, `walk_gates`.
"""
