"""A run folder is there from the moment that there is something to keep in it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from vaescope.errors import VaescopeError
from vaescope.runs import Run
from vaescope.specs import Experiment

__all__ = ["begun"]


@contextmanager
def begun(run: Run, spec: Experiment) -> Iterator[None]:
    """`run.create`, undone where what follows fails before a checkpoint or a row of the history, as
    a refusal of data does. Folders that were there before stay."""
    made = [path for path in (run.path, *run.path.parents) if not path.exists()]
    run.create(spec)
    try:
        yield
    except Exception:
        if run.path in made:
            with suppress(OSError, VaescopeError):
                run.discard()
                for folder in made[1:]:  # innermost first, as far as they are empty
                    folder.rmdir()
        raise
