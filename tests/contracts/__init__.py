"""What every implementation of an interface must keep, and siblings that later systems will look like."""
