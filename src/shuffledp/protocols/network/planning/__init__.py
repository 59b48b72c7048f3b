"""Planning of walks: rounds, overlays, links of constant pattern, and churn."""
