"""Laws of permutations, beside enumeration."""
