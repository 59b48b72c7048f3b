"""``python -m experiments.d_sigma NAME``."""

from experiments.d_sigma.run import main

if __name__ == "__main__":
    main()
