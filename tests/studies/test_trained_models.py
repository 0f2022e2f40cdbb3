"""Measures of studies of trained models, on cases whose answers are known."""

import numpy as np
import pytest

import vaescope as vs
from vaescope.codes import Codes
from vaescope.marginal_likelihood import posterior_contrast
from vaescope.studies.grzes2023.posteriors import apart, mixed
from vaescope.studies.grzes2023.trained import LEFT, TOLD, accuracy_of_u, place_explained
from vaescope.studies.mathieu2019.subspaces import grouped
from vaescope.studies.mathieu2019.subspaces_trained import dependence, within_groups
from vaescope.studies.zietlow2022.held_out import shown_before
from vaescope.studies.zietlow2022.trained_gap import turned


def test_an_image_is_seen_by_its_pixels_under_whatever_combination() -> None:
    images = vs.load_dataset("dsprites", size=16, grid={"shape": [0], "orientation": [0]})
    half = images.pick(np.arange(0, len(images), 2))
    seen = shown_before(images, half)
    assert seen[::2].all()
    rows = images.rows(np.arange(len(images))).reshape(len(images), -1)
    there = {tuple(row) for row in rows[::2]}
    assert seen.tolist() == [tuple(row) in there for row in rows]
    assert 0 < seen[1::2].sum() < len(images) // 2  # some, and not all, look like another one


def test_rotation_costs_orthogonal_columns_of_unlike_length_and_no_others() -> None:
    unlike = np.diag([100.0, 1.0])[None]
    assert posterior_contrast(unlike, np.ones(2))[0] == pytest.approx(0.0)
    assert turned(unlike) > 0.3
    assert turned(9.0 * np.eye(2)[None]) == pytest.approx(0.0, abs=1e-12)


def _codes(mean: np.ndarray, factors: np.ndarray) -> Codes:
    return Codes(
        mean, np.ones_like(mean), mean, factors=factors, factor_names=(TOLD, *LEFT),
        factor_sizes=(6, 12, 6),
    )  # fmt: skip


def test_u_and_place_are_told_by_what_holds_them_and_by_nothing_else() -> None:
    size, x, y = np.meshgrid(np.arange(6), np.arange(12), np.arange(6), indexing="ij")
    factors = np.column_stack([size.ravel(), x.ravel(), y.ravel()])
    one_hot = np.eye(6)[factors[:, 0]]
    place = factors[:, 1:].astype(np.float64)
    codes = _codes(np.column_stack([one_hot, place]), factors)
    assert accuracy_of_u(codes, one_hot) == 1.0
    assert accuracy_of_u(codes, place) < 0.3
    assert accuracy_of_u(codes, place[:, :0]) == pytest.approx(1 / 6)
    assert place_explained(codes, place) == pytest.approx(1.0)
    assert place_explained(codes, one_hot) < 0.05


def test_mixed_latents_have_images_of_either_kind_and_wide_ones_are_not_mixed() -> None:
    """Active everywhere, passive everywhere, half and half, wide everywhere, one image of 100."""
    n = 100
    ratio = np.column_stack([np.full(n, 0.01), np.ones(n), np.ones(n), np.full(n, 0.4), np.ones(n)])
    ratio[:50, 2], ratio[0, 4] = 0.01, 0.01
    kl = np.where(ratio > 0.9, 0.0, 1.0)
    assert mixed(ratio, kl).tolist() == [2.0]


def test_a_sample_is_nearest_to_the_mixture_that_it_was_drawn_from() -> None:
    draw = np.random.default_rng(0)
    wide, narrow = draw.normal(size=20_000), np.where(draw.random(20_000) < 0.5, 2.0, -2.0)
    sample = np.where(draw.random(20_000) < 0.3, draw.normal(size=20_000), draw.permutation(narrow))
    near = {c: apart(sample, wide, narrow, c) for c in (0.0, 0.3, 0.7, 1.0)}
    assert near[0.3] < 0.02 < min(near[0.0], near[0.7], near[1.0])
    # By hand: just above -2 half of the rest of the sample lies, and the prior has 0.023 there.
    assert near[1.0] == pytest.approx(0.7 * (0.5 - 0.0228), abs=0.02)


def test_groups_are_matched_in_any_order_and_a_wrong_pairing_has_half_of_them() -> None:
    sources = np.random.default_rng(0).normal(size=(4000, 6))
    assert within_groups(sources[:, [4, 5, 0, 1, 2, 3]], sources) == pytest.approx(1.0)
    # Two groups have one source each of two others: the third is whole, half of the rest is.
    assert within_groups(sources[:, [0, 2, 1, 3, 4, 5]], sources) == pytest.approx(2 / 3, abs=0.01)
    assert within_groups(sources @ np.zeros((6, 6)), sources) == pytest.approx(0.0, abs=0.01)


def test_groups_of_a_subspace_prior_depend_inside_alone() -> None:
    z = grouped(0, 2, 4000)
    assert dependence(z) > 0.15
    assert dependence(z[:, [0, 2, 1, 4, 3, 5]]) < 0.0
    assert dependence(grouped(0, 1, 4000)) == pytest.approx(0.0, abs=0.03)
