"""Charts: the pictures of documents, as SVG.

First `chart` and `house_style`, which all pictures share, then `curves` with `curve_names` and `epsilon_charts`,
`estimate_charts`, `place_charts`, `crowd_charts`, `audit_charts`; `drawing` puts them on a page. Nothing is imported
here: a command needs few of them.
"""
