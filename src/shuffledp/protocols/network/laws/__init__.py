"""Laws of walks: positions, loads and likeness, with everybody online and with churn."""
