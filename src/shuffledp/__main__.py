"""Entry point of ``python -m shuffledp``."""

from shuffledp.cli import main

main()
