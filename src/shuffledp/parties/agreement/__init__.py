"""Agreement between the hosts of a sum on the people whose shares have all come.

The sum is exact, or nothing is released.

In reading order: `agreement_rules` (what is fixed beforehand), `agreement_steps` (steps of a host, without disk or
network), `agreement_courier` (the analyst, who carries the messages of the hosts to each other).
"""
