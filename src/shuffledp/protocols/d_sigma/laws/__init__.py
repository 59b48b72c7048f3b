"""Laws of orders near a reference order: loss, preservation of groups, and spacings. Samplers are in `shuffledp.laws`.

In reading order: `loss_profiles`, `mallows_profiles` and `sort_profiles` (losses); `spacing`; `preservation_laws`;
`common_answers` and `naming_tails` (households).
"""
