"""How many threads torch and NumPy take while they compute beside each other."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["one_thread_spared"]


@contextmanager
def one_thread_spared() -> Iterator[None]:
    """One thread fewer for torch, if it has several, and one for NumPy's products: two that want
    the same core wait for each other at the end of every layer, which takes longer than one."""
    from threadpoolctl import threadpool_limits

    threads = torch.get_num_threads()
    torch.set_num_threads(max(1, threads - 1))
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(threads)
