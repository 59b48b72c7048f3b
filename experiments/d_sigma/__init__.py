"""Shuffles that hide the order inside groups: what can still be inferred and learned. Figures of Meehan et al. 2022."""
