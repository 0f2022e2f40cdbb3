"""How many threads torch takes while something else computes beside it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["one_thread_spared"]


@contextmanager
def one_thread_spared() -> Iterator[None]:
    """One thread fewer for torch, if it has several: two that want the same core wait for each
    other at the end of every layer, which takes longer than one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(max(1, threads - 1))
    try:
        yield
    finally:
        torch.set_num_threads(threads)
