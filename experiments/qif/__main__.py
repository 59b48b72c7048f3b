"""``python -m experiments.qif NAME``."""

from experiments.qif.run import main

if __name__ == "__main__":
    main()
