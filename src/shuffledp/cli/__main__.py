"""``python -m shuffledp.cli``."""

from shuffledp.cli import main

main()
