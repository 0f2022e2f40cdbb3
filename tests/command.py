"""The command line in this process: one of its own takes seconds to import torch.

What needs a real process (signals, pipes, import order) starts one itself.
"""

import io
import subprocess
from contextlib import redirect_stderr, redirect_stdout

import pytest

from vaescope.cli import main


def vaescope(*arguments: object, check: bool = False) -> subprocess.CompletedProcess[str]:
    """`vaescope ARGUMENTS...`: its exit code and what it printed."""
    words = [str(argument) for argument in arguments]
    out, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        patch.setattr("sys.argv", ["vaescope", *words])
        with pytest.raises(SystemExit) as stop:
            main()
    code = int(stop.value.code or 0)
    done = subprocess.CompletedProcess(words, code, out.getvalue(), errors.getvalue())
    if check:
        assert code == 0, done.stderr
    return done
