"""Planning of shuffles near a reference order: how groups mix.

In reading order: `group_losses`, `order_composition` (several releases), `group_mixing` over `mixing_facts`,
`displacement_choice`; `person_guarantees`, `households` and `personal_promises` (guarantees of people);
`sharpened_cells`; `wanted_settings` (losses that meet requirements).
"""
