"""Data as people bring them."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.user_data import as_dataset

IMAGES = torch.rand(40, 1, 4, 4, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(40) % 4


class Stream(IterableDataset[Tensor]):
    def __iter__(self) -> Iterator[Tensor]:
        yield from IMAGES


def named() -> list[dict[str, Tensor]]:
    return [{"label": label, "image": image} for image, label in zip(IMAGES, LABELS, strict=True)]


@pytest.mark.parametrize(
    "data",
    [
        DataLoader(TensorDataset(IMAGES, LABELS), 16),
        TensorDataset(IMAGES, LABELS),
        Stream(),
        DataLoader(named(), 16),  # type: ignore[arg-type]
        IMAGES.numpy(),
        list(IMAGES),
        2 * IMAGES - 1,
        IMAGES.clone().requires_grad_(),
        IMAGES.to_sparse(),
    ],
    ids=["loader", "dataset", "stream", "named", "array", "list", "[-1, 1]", "grad", "sparse"],
)
def test_all_give_the_same_images(data: Any) -> None:
    found = as_dataset(data)
    np.testing.assert_allclose(found.rows(np.arange(40)), IMAGES, atol=1e-6)


def test_bfloat16_is_read_though_numpy_has_none() -> None:
    rows = as_dataset(IMAGES.bfloat16()).rows(np.arange(40))
    np.testing.assert_allclose(rows, IMAGES, atol=4e-3)


def test_factors_of_a_long_loader_are_cut_as_its_images_are() -> None:
    n = 10_500
    x, y = torch.zeros(n, 2), torch.arange(n) % 3
    found = as_dataset(DataLoader(TensorDataset(x), 1000), y, most=10_000)
    assert len(found) == 10_000
    assert len(as_dataset(DataLoader(TensorDataset(x), 1000), y)) == n
    assert found.factors is not None
    np.testing.assert_array_equal(found.factors.classes(np.arange(7))[:, 0], y[:7])


def test_images_a_little_below_0_are_not_taken_for_minus_1_to_1() -> None:
    with pytest.raises(RangeError, match="clip"):
        as_dataset(IMAGES - 0.005)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: as_dataset("digits", LABELS), "has its own or none"),
        (lambda: as_dataset(as_dataset(IMAGES), LABELS), "has its own or none"),
        (lambda: as_dataset(DataLoader(IMAGES, 8, shuffle=True), LABELS), "shuffles"),  # type: ignore[arg-type]
        (lambda: as_dataset(DataLoader([{"text": 1}])), "has text; wanted images"),  # type: ignore[arg-type]
        (lambda: as_dataset(DataLoader(["a", object()])), "loader failed after 1 batches"),  # type: ignore[arg-type]
        (
            lambda: as_dataset([np.zeros((4, 4)), np.zeros((5, 4))]),
            "cannot be converted to an array",
        ),
    ],
)
def test_what_cannot_be_right_is_refused(call: Callable[[], Any], says: str) -> None:
    with pytest.raises((UsageError, ShapeError), match=says):
        call()
