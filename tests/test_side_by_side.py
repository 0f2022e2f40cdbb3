import threading
from collections.abc import Callable, Iterator

import pytest

from vaescope.side_by_side import beside


def test_results_come_in_order_from_another_thread_while_jobs_are_made_here() -> None:
    made: list[int] = []

    def jobs() -> Iterator[Callable[[], tuple[int, int]]]:
        for n in range(7):
            made.append(threading.get_ident())
            yield lambda n=n: (n, threading.get_ident())  # type: ignore[misc]

    results = list(beside(jobs()))
    assert [n for n, _ in results] == list(range(7))
    assert set(made) == {threading.get_ident()}
    assert threading.get_ident() not in {thread for _, thread in results}


def test_what_a_job_raises_is_raised_here() -> None:
    def fails() -> int:
        raise ValueError("job")

    with pytest.raises(ValueError, match="job"):
        list(beside([lambda: 1, fails]))
