"""Keep freed memory in the process: glibc would map and unmap every large activation.

Page faults of fresh mappings cost up to half of a training step on CPU; with these settings they
happen once. The price is that freed memory is not given back to the system.
"""

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collection_paused", "keep_freed_memory"]

# Numbers of <malloc.h>.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4


def keep_freed_memory() -> bool:
    """Sets glibc's allocator for repeated large tensors; False where there is no glibc."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    settings = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, 2**31 - 1), (_TOP_PAD, 64 * 2**20))
    return all(mallopt(name, value) == 1 for name, value in settings)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Nobody looks for cycles meanwhile: for making many objects that have none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
