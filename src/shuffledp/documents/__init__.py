"""Documents: what each result says, once, and how a terminal and a page show it.

Read in this order: `document` (the parts), one ``*_document`` for each result (the words), `terminal` and `page` (who
shows them), ``*_chart`` and `drawing` (pictures). Nothing is imported here: a command needs few of them.
"""
