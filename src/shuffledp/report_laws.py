"""What accounting needs to know of the laws of reports, where that is little."""

from dataclasses import dataclass

__all__ = ["PersonalLosses", "TwoLevelLaw"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoLevelLaw:
    """Reports whose density against a public base law takes two values: a high one on the input's set, else a low one.

    The base law does not depend on the input, and all sets have one base probability. That, what sets have in common,
    and the ratio exp(epsilon0) of the two values are all that accounting needs.

    Args:
        share: base probability of an input's set, between 0 and 1, to 12 digits.
        overlap: of what the sets of two different inputs have in common; the least one, if pairs differ.
        triple: of what the sets of three different inputs have in common, for some three inputs any two of whose sets
            have ``overlap`` in common; None if there are none, or it is not known.
    """

    share: float
    overlap: float
    triple: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalLosses:
    """k-ary randomized response with a local loss of each person's own.

    Args:
        domain_size: the number k of values.
        epsilons: the different losses in nats, ascending.
        counts: how many people have each.
    """

    domain_size: int
    epsilons: tuple[float, ...]
    counts: tuple[int, ...]
