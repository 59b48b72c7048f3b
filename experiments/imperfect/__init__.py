"""Sums through imperfect shuffles: errors, numbers of messages, a story and a figure of Ghazi et al. 2023."""
