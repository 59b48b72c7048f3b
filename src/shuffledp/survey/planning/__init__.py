"""Plans of tasks: what they will promise, cost and find, before there is any data.

In reading order: `task_planning` (loss and error of each private column, and randomizers that would do better),
`planned_comparisons` (the least differences that are found), `weekly_planning` (one loss of all weeks together).
"""
