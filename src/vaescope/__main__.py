"""`python -m vaescope`."""

from vaescope.cli import main

main()
