"""Processes that work side by side, and end when the one that they work for is stopped."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread

__all__ = ["process_pool"]


@contextmanager
def process_pool(workers: int | None) -> Iterator[ProcessPoolExecutor]:
    """A pool of `workers` processes of one torch thread each; None: one per core.

    Where the block is left by an exception, they are ended at once: what they do is lost, so only
    give them work that may be done again. A pool alone would wait for what is under way, and for
    what it has queued beyond that.
    """
    # The processes import nothing from the current directory in place of Python's own modules.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    # Spawned: torch's threads do not survive a fork.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_alone)
    try:
        yield pool
    except BaseException:
        # From Python 3.14 on this is `pool.kill_workers()`.
        for process in tuple((pool._processes or {}).values()):
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _alone() -> None:
    """One thread; Ctrl-C, which reaches this process too, is for the one that waits for it."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed tells nobody: its pool would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
