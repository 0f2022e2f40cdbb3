"""Laws that hold for every dataset that can be opened here."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vaescope.build import build_data
from vaescope.citations import BIBTEX
from vaescope.data import CARDS, DATASETS, Dataset
from vaescope.settings import from_command_line

#: Files at hand -> the folder that has them.
AT_HAND = {
    "mnist": "mnist", "fashion-mnist": "fashion_mnist", "sprites": "sprites_lpc",
    "coil20": "coil20", "olivetti": "olivetti", "dsprites-scream": "scream",
}  # fmt: skip
MADE_HERE = [name for name, card in CARDS.items() if card.rendered]

_opened: dict[str, Dataset] = {}


@pytest.fixture
def opened(
    shared_data: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Dataset]:
    def load(name: str) -> Dataset:
        if name in AT_HAND:
            folder = shared_data(AT_HAND[name])
            monkeypatch.setenv("VAESCOPE_DATA", str(folder.parent))
        if name not in _opened:
            grid = []
            if name.startswith("dsprites"):  # all factors, fewer images
                grid = ["data.grid.orientation=[0, 5, 20]", "data.grid.x=[0, 13, 31]"]
            _opened[name] = build_data(from_command_line("vae", [f"data.name={name}", *grid]).data)
        return _opened[name]

    return load


ALL = [*MADE_HERE, *AT_HAND]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_rows_have_the_shape_and_range_that_are_declared(
    name: str, opened: Callable[[str], Dataset]
) -> None:
    data = opened(name)
    rows = data.rows(np.array([0, len(data) // 2, len(data) - 1]))
    assert rows.dtype == np.float32
    assert rows.shape == (3, *data.shape)
    assert data.shape == from_command_line("vae", [f"data.name={name}"]).data.shape
    low, high = data.store.range
    assert low <= rows.min() <= rows.max() <= high
    if len(data.shape) == 3:
        assert (low, high) == (0.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_index_to_factors_to_index_is_the_identity(
    name: str, opened: Callable[[str], Dataset]
) -> None:
    data = opened(name)
    if data.factors is None:
        assert data.sources is not None and len(data.sources) == len(data)
        return
    index = np.random.default_rng(0).integers(len(data), size=50)
    classes = data.factors.classes(index)
    assert ((classes >= 0) & (classes < data.factors.sizes)).all()
    if data.factors.complete:
        assert data.factors.n == len(data)
        np.testing.assert_array_equal(data.factors.index(classes), index)
        np.testing.assert_array_equal(data.observe(classes), data.rows(index))


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_a_row_is_the_same_whatever_batch_it_comes_in(
    name: str, opened: Callable[[str], Dataset]
) -> None:
    data = opened(name)
    alone = data.rows(np.array([7]))
    np.testing.assert_array_equal(data.rows(np.array([3, 7, 11]))[1], alone[0])


@pytest.mark.parametrize("name", ALL)
def test_splits_are_disjoint_complete_and_a_function_of_the_seed(
    name: str, opened: Callable[[str], Dataset]
) -> None:
    data = opened(name)
    parts = [part.store.chosen for part in data.split(3)]  # type: ignore[attr-defined]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(data)))
    again = [part.store.chosen for part in data.split(3)]  # type: ignore[attr-defined]
    for part, other in zip(parts, again, strict=True):
        np.testing.assert_array_equal(part, other)


def test_a_restricted_grid_is_the_grid_that_is_asked_for(
    opened: Callable[[str], Dataset],
) -> None:
    data = opened("shapes3d-rendered")
    part = data.restrict({"floor_hue": [2, 3], "shape": [1], "orientation": [0, 14]})
    assert part.factors is not None
    assert part.factors.names == (
        "floor_hue", "wall_hue", "object_hue", "scale", "orientation",
    )  # fmt: skip
    assert len(part) == 2 * 10 * 10 * 8 * 2
    np.testing.assert_array_equal(
        part.observe(np.array([[1, 4, 5, 6, 1]])), data.observe(np.array([[3, 4, 5, 6, 1, 14]]))
    )


def test_a_subset_has_the_correlation_that_is_asked_for(
    opened: Callable[[str], Dataset],
) -> None:
    data = opened("sprites").subset(correlation=0.6, between=("body", "hair"), n=4000)
    assert data.factors is not None
    body, hair = data.factors.classes(np.arange(len(data)))[:, [0, 3]].T
    assert np.corrcoef(body, hair)[0, 1] == pytest.approx(0.6, abs=0.05)


@pytest.mark.slow
def test_all_sprites_are_distinct(opened: Callable[[str], Dataset]) -> None:
    data = opened("sprites")
    images = data.rows(np.arange(len(data))).reshape(len(data), -1)
    assert len({row.tobytes() for row in images}) == 11_664


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_labels_are_the_official_ones(name: str, opened: Callable[[str], Dataset]) -> None:
    data = opened(name)
    assert data.factors is not None
    labels = data.factors.classes(np.arange(len(data)))[:, 0]
    counts = np.bincount(labels[:60_000])
    expected = {
        "mnist": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
        "fashion-mnist": [6000] * 10,
    }
    assert counts.tolist() == expected[name]


@pytest.mark.slow
def test_two_processes_see_the_same_data() -> None:
    code = (
        "import numpy as np, hashlib\n"
        "from vaescope.user_data import load_dataset\n"
        "for name in ('dsprites-noisy', 'synth-nonlinear', 'ica-segments'):\n"
        "    data = load_dataset(name)\n"
        "    rows = data.rows(data.sample(5, seed=1))\n"
        "    print(hashlib.sha256(rows.tobytes()).hexdigest())"
    )
    outs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(outs) == 1


def test_every_dataset_has_a_card_a_licence_and_a_citation() -> None:
    assert list(CARDS) == list(DATASETS)
    for name, card in CARDS.items():
        assert card.name == name
        assert card.licence
        assert card.citation in BIBTEX, name
        assert card.rendered or card.how or any(file.url for file in card.files)
