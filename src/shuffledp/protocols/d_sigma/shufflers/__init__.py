"""Shufflers near a public reference order: Mallows and noisy sort.

In reading order: `reference_order` (their base), `mallows`, `noisy_sort`; `group_profiles` (losses by group),
`swap_geometry` (who hides whom). Orders are drawn in `shuffledp.laws`.
"""
