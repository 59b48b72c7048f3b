"""``python -m experiments.network NAME``."""

from experiments.network.run import main

if __name__ == "__main__":
    main()
