"""The command line. The only place that prints."""

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Runs a command; also while its modules are imported, Ctrl-C ends in one line."""
    try:
        from vaescope.cli.app import main as run
    except KeyboardInterrupt:
        print("Stopped. Run the same command again.", file=sys.stderr)
        sys.exit(130)
    run()
