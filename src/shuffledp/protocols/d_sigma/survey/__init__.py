"""Tables of a task file about groups.

In reading order: `groups` and `grouped_section` (the tables); `regional_result`; `planned_groups`, `settings_search`
over `resized_groups`, `household_audit`; `pilot`, `pilot_bench`, `exploration`, `pilot_results`.
"""
