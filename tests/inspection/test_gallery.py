"""Further pictures against a linear decoder, of which all is known."""

from typing import Any

import numpy as np
import pytest
import torch

from vaescope.inspection.gallery import Gallery, gallery_of
from vaescope.opening import open_model
from vaescope.traversals import traverse

SIDE = 6
WEIGHTS = np.random.default_rng(0).normal(size=(3, SIDE * SIDE)).astype(np.float32) * 0.04


def decode(z: torch.Tensor) -> torch.Tensor:
    return (0.5 + z @ torch.from_numpy(WEIGHTS)).reshape(-1, 1, SIDE, SIDE)


def encode(x: torch.Tensor) -> torch.distributions.Normal:
    mean = (x.reshape(len(x), -1) - 0.5) @ torch.from_numpy(np.linalg.pinv(WEIGHTS))
    return torch.distributions.Normal(mean, 0.05 + 0.0 * mean)


@pytest.fixture(scope="module")
def found() -> tuple[Gallery, Any]:
    z = np.random.default_rng(1).normal(size=(80, 3)).astype(np.float32)
    data = decode(torch.from_numpy(z)).numpy()
    data[17] += 0.3 * np.random.default_rng(2).normal(size=data[17].shape)  # no decoder makes this
    model = open_model(
        encode=encode, decode=decode, data=np.clip(data, 0, 1),
        output="probabilities", prior="normal",
    )  # fmt: skip
    with model.evaluating():

        def mean(latents: torch.Tensor) -> torch.Tensor:
            return model.decode_codes(latents).mean

        moved = traverse(mean, model.codes.mean[0])
        return gallery_of(model, [2, 0, 1], moved, mean, [f"row {k}" for k in range(80)]), model


def test_a_latent_acts_where_its_weights_are(found: tuple[Gallery, Any]) -> None:
    gallery, _ = found
    assert gallery.acting == (2, 0, 1)
    wanted = np.abs(WEIGHTS[[2, 0, 1]]).reshape(3, 1, SIDE, SIDE)
    np.testing.assert_allclose(gallery.action, wanted, atol=1e-4)


def test_a_latent_is_fed_by_the_pixels_that_its_encoder_weighs(found: tuple[Gallery, Any]) -> None:
    gallery, _ = found
    wanted = np.abs(np.linalg.pinv(WEIGHTS).T[[2, 0, 1]]).reshape(3, 1, SIDE, SIDE)
    np.testing.assert_allclose(gallery.feeding, wanted, rtol=1e-3)


def test_the_grid_moves_the_two_strongest_and_nothing_else(found: tuple[Gallery, Any]) -> None:
    gallery, model = found
    strength = np.square(WEIGHTS).sum(axis=1)
    assert gallery.axes == tuple(np.argsort(-strength)[:2])
    assert gallery.grid is not None
    z = model.codes.mean[0].copy()
    z[gallery.axes[0]], z[gallery.axes[1]] = -2.0, 2.0  # top left: upwards is more
    wanted = decode(torch.from_numpy(z)[None]).numpy()[0]
    np.testing.assert_allclose(gallery.grid[0, 0], wanted, atol=1e-5)


def test_the_worst_is_the_row_that_was_spoiled(found: tuple[Gallery, Any]) -> None:
    gallery, _ = found
    assert gallery.worst is not None and gallery.worst.labels[0] == "row 17"
    assert (np.diff(gallery.errors) <= 0).all() and gallery.judged == 80


def test_the_way_starts_and_ends_at_the_two_examples(found: tuple[Gallery, Any]) -> None:
    gallery, model = found
    for place, label in ((0, gallery.ends[0]), (-1, gallery.ends[1])):
        z = model.codes.mean[int(label.split()[1])]
        wanted = decode(torch.from_numpy(z)[None]).numpy()[0]
        np.testing.assert_allclose(gallery.way[place], wanted, atol=1e-5)


def test_draws_are_the_decoder_at_draws_of_the_prior(found: tuple[Gallery, Any]) -> None:
    gallery, _ = found
    assert gallery.drawn is not None
    z = (gallery.drawn.reshape(len(gallery.drawn), -1) - 0.5) @ np.linalg.pinv(WEIGHTS)
    assert abs(z.mean()) < 0.6 and 0.5 < z.std() < 1.5


def test_the_scatter_has_the_used_latents_of_every_example(found: tuple[Gallery, Any]) -> None:
    gallery, model = found
    scatter = gallery.scatter
    assert scatter is not None and scatter.latents == (2, 0, 1)
    np.testing.assert_allclose(scatter.mean, model.codes.mean[:, [2, 0, 1]])
    assert scatter.names == () and len(scatter.originals) == 80
