"""Analyzers: from a view to an estimate with its error.

In reading order: frequencies, exact_intervals (of few reports), means, sums (of split and mix), regional (frequencies
at places), group_preservation (how much of a group's answers stays in its slots). Each name is imported when it is
first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
