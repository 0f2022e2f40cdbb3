"""Work in two threads at once. NumPy, SciPy and torch let Python's lock go while they compute."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["beside"]

Result = TypeVar("Result")

#: Jobs made and not finished: enough that neither side waits, few enough for their memory.
_WAITING = 2


def beside(jobs: Iterable[Callable[[], Result]]) -> Iterator[Result]:
    """Results in the order of the jobs; each runs in another thread while the next is made here.

    >>> list(beside((lambda n=n: n * n) for n in range(4)))
    [0, 1, 4, 9]
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(1) as pool:
        for job in jobs:
            waiting.append(pool.submit(job))
            if len(waiting) > _WAITING:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
