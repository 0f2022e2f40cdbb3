"""Pages bring folders and modules of their own: no other test shall meet them."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _own_imports() -> Iterator[None]:
    paths, modules = sys.path[:], set(sys.modules)
    yield
    sys.path[:] = paths
    for name in set(sys.modules) - modules:
        if name.partition(".")[0] in ("mylab", "labs", "mynets"):
            del sys.modules[name]
