"""Plans in words: what a collection is expected to cost and to find, before there is any data.

`plan_document` puts a plan together: `column_plan_document` for each private column, `tick_plan_document` and
`blanket_plan_document` where there are several ways of asking it. `plan_page` shows it as the page of its future
release, with `false_reports_document`; `weeks_document` is of questions that are asked every week.
"""
