"""A maker of run folders."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.comparing.hand_made import LOG_VARIANCES, hand_made, write_run

from vaescope.runs import Run


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Run]:
    """make("name", *settings): the folder of a run."""

    def one(name: str, *settings: str, log_variances: Sequence[float] = LOG_VARIANCES) -> Run:
        return write_run(tmp_path, name, *hand_made(*settings, log_variances=log_variances))

    return one
