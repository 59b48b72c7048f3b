"""Laws of orders near a reference order: preservation of groups, and spacings.

In reading order: `loss_profiles`, `mallows_profiles` and `sort_profiles` (losses); `spacing`; `preservation_laws`;
`common_answers` and `naming_tails` (households).
"""
