"""Leakage: the improvement of guesses at a secret by the output of a channel or a protocol.

Files in reading order:

* Channels: `bayes` (vulnerability of a right guess) and `gain` (of any gain function; refinement), with the same verbs
  in each; `shuffle_channels` writes small protocols out; `leakage_and_dp` ties vulnerability to delta and epsilon.
* Protocols of any size: `protocol_leakage` answers for all; `vulnerability` is the answer, `target_examination` and
  `release_comparison` put several together.
* Adversaries: `uniform_shuffle` and `nonuniform_shuffle` (uninformed, who know the prior), `informed_adversary` (who
  knows everybody else's value); `answers_alike` (of a household that gives equal answers).
* The sums behind: `guess_scores`, `expected_maximum`, `maximum_bounds`, `max_load` (exact for k-ary randomized
  response and a uniform prior), `count_probabilities`.

The names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
