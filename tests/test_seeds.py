import numpy as np
import pytest

from vaescope.seeds import derive, order, rng


def test_streams_differ_by_seed_name_and_step() -> None:
    seeds = {derive(s, name, t) for s in range(3) for name in ("a", "b") for t in range(3)}
    assert len(seeds) == 18


def test_a_stream_is_a_function_of_its_arguments() -> None:
    np.testing.assert_array_equal(rng(3, "x", 4).normal(size=5), rng(3, "x", 4).normal(size=5))


@pytest.mark.parametrize(("batch", "n"), [(4, 12), (5, 12), (32, 12), (12, 12)])
def test_every_row_is_seen_once_per_epoch(batch: int, n: int) -> None:
    steps = 3 * n
    seen = np.concatenate([order(0, step, batch=batch, n=n) for step in range(steps)])
    epochs = seen[: n * (len(seen) // n)].reshape(-1, n)
    np.testing.assert_array_equal(np.sort(epochs, axis=1), np.tile(np.arange(n), (len(epochs), 1)))
    assert not np.array_equal(epochs[0], epochs[1])


def test_order_needs_no_history() -> None:
    forward = [order(1, step, batch=7, n=50) for step in range(40)]
    np.testing.assert_array_equal(order(1, 33, batch=7, n=50), forward[33])
