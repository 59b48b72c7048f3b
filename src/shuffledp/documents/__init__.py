"""Documents: the words of each result, and how a terminal and a page show them.

Read in this order: `document` (the parts), `words`; one ``*_document`` for each result or section (the words), first
`statement_document` and `release_document`; `terminal` and `page` (who shows them); `charts` (their pictures). Nothing
is imported here: a command needs few of them.
"""
