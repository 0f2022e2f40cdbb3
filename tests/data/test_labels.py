"""Factors by name: a dictionary of columns, or a pandas table."""

import numpy as np
import pandas as pd
import pytest
import torch

import vaescope as vs
from vaescope.errors import ShapeError
from vaescope.user_data import as_dataset

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 255, (40, 1, 8, 8), dtype=np.uint8)
SCALE = RNG.integers(9, 12, 40)  # as text 10 would come before 9
SHAPE = np.array(["square", "heart"])[RNG.integers(0, 2, 40)]


def held(data: vs.Dataset) -> dict[str, list[object]]:
    assert data.factors is not None
    rows = np.arange(len(data))
    columns = data.factors.classes(rows).T
    return {
        name: values[column].tolist()
        for name, values, column in zip(
            data.factors.names, data.factors.values, columns, strict=True
        )
    }


@pytest.mark.parametrize(
    "factors",
    [
        {"scale": SCALE, "shape": SHAPE},
        {"scale": torch.from_numpy(SCALE), "shape": SHAPE.tolist()},
        pd.DataFrame({"scale": SCALE, "shape": pd.Categorical(SHAPE)}),
        pd.DataFrame({"scale": SCALE, "shape": SHAPE}),
    ],
    ids=["arrays", "tensor and list", "table", "table of text"],
)
def test_named_columns_keep_their_names_values_and_order(factors: object) -> None:
    data = as_dataset(IMAGES, factors)
    assert held(data) == {"scale": SCALE.tolist(), "shape": SHAPE.tolist()}
    assert data.factors is not None and data.factors.values[0].tolist() == [9, 10, 11]


@pytest.mark.slow
def test_names_reach_loaders_inspections_and_codes_of_a_function() -> None:
    loader = torch.utils.data.DataLoader(torch.from_numpy(IMAGES), batch_size=16)
    assert list(held(as_dataset(loader, {"scale": SCALE}, most=20))) == ["scale"]

    x = vs.known.signals()
    named = {"half": (np.arange(len(x)) % 2), "third": np.arange(len(x)) % 3}
    opened = vs.open_model(vs.known.linear_vae(x), x, factors=named)
    assert opened.data.factors is not None and opened.data.factors.names == ("half", "third")
    alone = vs.open_model(
        encode=lambda x: (x.flatten(1)[:, :2], 0.0 * x.flatten(1)[:, :2]),
        data=x, factors=named, posterior="logvar",
    )  # fmt: skip
    assert alone.data.factors is not None and alone.data.factors.names == ("half", "third")


@pytest.mark.parametrize(
    "factors, says",
    [
        ({"scale": SCALE / 2}, "'scale' is float64.*wanted one integer or one name.*"),
        ({"scale": SCALE[:, None]}, "'scale' is int64 of shape"),
        ({"scale": SCALE[:39]}, "'scale' has 39 values; your array has 40 rows"),
        ({}, "empty"),
        ({"1": SCALE, 1: SCALE}, "wanted 2 different"),
    ],
)
def test_columns_that_are_wrong_are_named(factors: object, says: str) -> None:
    with pytest.raises(ShapeError, match=says):
        as_dataset(IMAGES, factors)
