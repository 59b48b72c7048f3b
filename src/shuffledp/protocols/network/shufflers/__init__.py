"""The shuffler by random walks, its model, and one person's part in it."""
