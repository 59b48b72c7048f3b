"""Planner: a local page that compares a task's guarantees and costs for all shufflers.

In reading order: `questions` (a question and the task that it is about), `answers` (question in, answer out, all pure),
`answering_process` (a process that answers within some seconds), `planner_server` (the page and its
questions over HTTP), ``page/`` (code for the browser).
"""
