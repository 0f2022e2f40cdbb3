"""Auxiliary variables depend on the image and the dataset, never on the batch."""

from dataclasses import replace

import numpy as np
import pytest

from vaescope.data.auxiliary import one_hot, scaled
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.splits import split
from vaescope.data.synthetic import synth_linear
from vaescope.data.toys import ica_segments, pinwheel
from vaescope.errors import UsageError


def test_ordinals_run_from_zero_to_one(small_sprites: Dataset) -> None:
    u = scaled(small_sprites)
    everything = u(np.arange(len(small_sprites)))
    assert everything.shape == (len(small_sprites), u.width) and everything.dtype == np.float32
    assert (everything.min(axis=0) == 0).all() and (everything.max(axis=0) == 1).all()
    factors = small_sprites.require_factors("test")
    for k, size in enumerate(factors.sizes):
        np.testing.assert_allclose(np.unique(everything[:, k]), np.arange(size) / (size - 1))


def test_u_of_an_image_is_the_same_in_any_batch_and_any_part(small_sprites: Dataset) -> None:
    u = scaled(small_sprites)
    everything = u(np.arange(len(small_sprites)))
    for row in (0, 17, 383):
        np.testing.assert_array_equal(u(np.array([row]))[0], everything[row])
    # A part that lacks some classes is scaled by those of the whole.
    rows = np.flatnonzero(everything[:, 0] < 0.5)
    np.testing.assert_array_equal(
        scaled(small_sprites.pick(rows))(np.arange(len(rows))), everything[rows]
    )


def test_some_factors_can_be_chosen(small_sprites: Dataset) -> None:
    rows = np.arange(50)
    everything = scaled(small_sprites)(rows)
    names = small_sprites.require_factors("test").names
    chosen = scaled(small_sprites, names=[names[2], names[0]])
    assert chosen.width == 2
    np.testing.assert_array_equal(chosen(rows), everything[:, [2, 0]])


def test_a_constant_factor_gives_zero_not_nan(small_sprites: Dataset) -> None:
    constant = replace(
        small_sprites, factors=Factors(("one",), (np.array([3.0]),), np.zeros((384, 1), np.int64))
    )
    assert (scaled(constant)(np.arange(384)) == 0).all()


def test_one_hot_marks_the_class_and_survives_a_split() -> None:
    data = ica_segments(segments=7, per_segment=20)
    u = one_hot(data, names=["segment"])
    everything = u(np.arange(len(data)))
    assert everything.shape == (140, 7) and u.width == 7
    np.testing.assert_array_equal(everything.argmax(axis=1), np.repeat(np.arange(7), 20))
    assert (everything.sum(axis=1) == 1).all()
    test = split(data, seed=0).test
    assert one_hot(test, names=["segment"]).width == 7


def test_unknown_factors_and_none_are_refused() -> None:
    with pytest.raises(UsageError, match=r"no factor segment.*class"):
        one_hot(pinwheel(), names=["segment"])
    with pytest.raises(UsageError, match="synth-linear has none"):
        scaled(synth_linear(n=5))
