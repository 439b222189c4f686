"""``python -m polyopt`` is ``polyopt``."""

from polyopt.cli import main

if __name__ == "__main__":
    main()
