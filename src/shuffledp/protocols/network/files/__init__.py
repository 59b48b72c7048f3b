"""Files of tasks with walks: graphs of people, and views of their reports.

One file: `graphs_of_walks`.
"""
