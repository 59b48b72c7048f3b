"""Analyzers, which make estimates with errors from views.

In reading order: `frequencies`, `exact_intervals` (of few reports), `frequency_sums` (of frequencies, with exact
errors), `cross_tables` (of two answers), `independence_tests` (of both), `histograms` (of a number in bins, with
quantiles), `tick_shares` (of options that people tick), `means`, `word_shares` (of open answers, over `prefix_search`),
`blanketed_shares` (from responses under a blanket), `among_asked` and `asked_contrasts` (of questions that some people
are asked), `contrasts` (pairs of numbers, with how errors go together), `differences` (between two numbers, over
`largest_errors`: with intervals that hold together). Families of protocols add analyzers of their own, from their
folders ``analyzers``. Each name is imported when it is first used.
"""

from shuffledp.protocols import face

__getattr__, __dir__, __all__ = face(__name__, __file__)
