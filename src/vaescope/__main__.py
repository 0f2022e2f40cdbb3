"""`python -m vaescope`."""

from vaescope.cli import main

if __name__ == "__main__":
    main()
