"""Network shuffling: what random walks hide after how many rounds, as printed, corrected, and as it is."""
