"""Charts: the pictures of documents, as SVG.

First `chart` and `house_style`, which all pictures share, then `curves` and ``*_charts``, one for each kind of result;
`drawing` puts them on a page. Nothing is imported here: a command needs few of them.
"""
