"""``python -m experiments.imperfect NAME``."""

from experiments.imperfect.run import main

if __name__ == "__main__":
    main()
