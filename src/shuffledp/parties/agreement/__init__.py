"""Agreement of the hosts of a sum on the people of whom all have every share: the sum is exact, or nothing is released.

In reading order: `agreement_rules` (what is fixed beforehand), `agreement_steps` (steps of a host, without disk or
network), `agreement_courier` (the analyst, who carries the messages of the hosts to each other).
"""
