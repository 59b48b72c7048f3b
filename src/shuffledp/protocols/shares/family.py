"""Entries of additive shares in the kernel's registries."""

from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.protocols import shares
from shuffledp.protocols.family import Family, NamedShuffle, ShufflerKind, TaskPart


def _worst(num_users: int, imperfection: float) -> ShuffleModel:
    """Model of the worst shuffle with this imperfection."""
    return shares.ImperfectShuffleModel(num_users=num_users, imperfection=imperfection, construction="assumed")


FAMILY = Family(
    "shares",
    shufflers={
        "imperfect": ShufflerKind(
            lambda: shares.imperfect_shuffler,
            section=lambda: shares.ImperfectSection,
            best_for="a shuffler for which every order is possible, and nearly equally likely",
            described={"imperfect": NamedShuffle(_worst, "imperfection")},
        ),
    },
    task=TaskPart(tables={"protocol": lambda: shares.ProtocolSection}, sums=lambda: shares.FIRST_SUMS),
    randomizers={  # several messages from each person
        "counted-bits": lambda: shares.CountedBits,
        "split-and-mix": lambda: shares.SplitAndMix,
        "vector-sum": lambda: shares.VectorSum,
    },
    calibrations={
        "counted_bits": lambda: shares.counted_bits,
        "vector_sum": lambda: shares.vector_sum,
        "split_and_mix": lambda: shares.split_and_mix,
        "split_and_mix_certificate": lambda: shares.split_and_mix_certificate,
        "SplitAndMixCertificate": lambda: shares.SplitAndMixCertificate,
    },
    games=lambda: (shares.SharesGame, shares.BitsGame, shares.VectorsGame),
    theorems={
        "swap-cost": lambda: (
            shares.SplitAndMixRounds(),
            shares.VectorSums(),
            shares.CountedBitsUniform(),
            shares.CountedBitsBuffer(),
        )
    },
    document=lambda: shares.SharesDocument,
)
