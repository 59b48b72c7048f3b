"""Targets in, solved parameters out.

Every answer has been accounted for once more: it is a parameter at which the accountant's own statement meets the
target.
"""

from shuffledp.calibrate.losses import Calibration, epsilon0, num_users
from shuffledp.calibrate.shares import SplitAndMixCertificate, split_and_mix, split_and_mix_certificate

__all__ = [
    "Calibration",
    "SplitAndMixCertificate",
    "epsilon0",
    "num_users",
    "split_and_mix",
    "split_and_mix_certificate",
]
