"""The planner: one page on this machine: what a task would guarantee and cost, for all shufflers side by side.

In reading order: `questions` (a question and the task that it is about), `answers` (question in, answer out, all pure),
`answering_process` (a process that answers, and is ended after some seconds), `planner_server` (the page and its
questions over HTTP), ``page/`` (what a browser runs).
"""
