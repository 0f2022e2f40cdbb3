"""The command line. The only place that prints."""

from vaescope.cli.app import main

__all__ = ["main"]
