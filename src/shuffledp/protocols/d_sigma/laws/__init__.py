"""Laws of orders near a reference order: preservation of groups, and spacings."""
