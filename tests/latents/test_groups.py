"""Groups of latents on codes whose rotation is known.

Demanded are 190 of 200 draws of each case: `python scripts/groups.py` counts them into
docs/results/groups.md. The test takes ten draws and demands all of them.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scripts.groups import (
    BORDERLINE,
    CASES,
    NAMES,
    codes_with,
    count,
    rotated_codes,
    statements,
    unit,
)  # fmt: skip

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.latents import groups

PRETRAINED = Path(__file__).parents[3] / "shared" / "data" / "pretrained" / "codes"


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_groups_say_what_the_codes_hold_in_95_of_100_draws(case: str) -> None:
    right, _, wrong = count(CASES[case], 10)
    assert right == 10, wrong


def test_the_rotation_gives_each_factor_its_axis() -> None:
    codes = rotated_codes(30)(0)
    found = groups(codes)
    np.testing.assert_allclose(found.rotation @ found.rotation.T, np.eye(10), atol=1e-9)
    rotated = codes.mean @ found.rotation.T
    table = np.corrcoef(rotated.T, codes.factors[:, 3:].T)[:10, 10:]
    assert abs(table[4, 0]) > 0.97 and abs(table[8, 1]) > 0.97
    assert abs(table[4, 1]) < 0.1 and abs(table[8, 0]) < 0.1


def test_two_factors_that_one_latent_knows_alike_give_it_no_name() -> None:
    rng = np.random.default_rng(0)
    common = rng.integers(32, size=2000)
    both = np.stack([common, np.clip(common + rng.integers(-2, 3, size=2000), 0, 31)], axis=1)
    mean = np.stack([unit(common), unit(rng.integers(32, size=2000))], axis=1)
    codes = Codes(mean, np.full_like(mean, 0.01), mean, both, ("x", "y"))
    found = groups(codes)
    assert not found.groups and [f.standing for f in found.factors] == ["unnamed", "unnamed"]
    assert "correlated in the data" in found.summary()


def test_a_mixture_that_is_no_rotation_has_no_angle() -> None:
    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        del rng
        x, y = unit(factors[:, 3]), unit(factors[:, 4])
        mean[:, 4], mean[:, 8] = x + 0.8 * y, 0.8 * x + y  # columns at 12 degrees

    found = groups(codes_with(fill, 0))
    assert [(g.latents, g.factors, g.angle) for g in found.groups] == [((4, 8), ("x", "y"), None)]
    np.testing.assert_array_equal(found.rotation, np.eye(10))


def known_by(share: float, seed: int, rows: int) -> Codes:
    """x in latent 4, which knows this share of it; the others are noise."""

    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        noise = rng.standard_normal(len(mean))
        mean[:, 4] = np.sqrt(share) * unit(factors[:, 3]) + np.sqrt(1 - share) * noise
        mean[:, 8] = rng.standard_normal(len(mean))

    return codes_with(fill, seed, rows)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_share_at_a_threshold_gives_no_two_statements_without_a_doubt(share: float) -> None:
    # Posterior noise takes a little of the share, so that it is asked for a little more.
    said = [
        statements(groups(known_by(1.005 * share, seed, rows)))["x"]
        for rows in (500, 2000)
        for seed in range(4)
    ]
    assert said.count(BORDERLINE) >= 4, said
    assert len({own for own in said if own != BORDERLINE}) <= 1, said


def test_a_gain_at_the_threshold_is_borderline_and_the_fewest_latents_are_named() -> None:
    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        noise = rng.standard_normal((len(mean), 2))
        mean[:, 4] = np.sqrt(0.75) * unit(factors[:, 3]) + np.sqrt(0.25) * noise[:, 0]
        # It knows a quarter of the noise in latent 4, so that the share of both is
        # 0.75 / (0.75 + 0.25 * 0.75) = 0.8 against 0.75: a gain of 0.05.
        mean[:, 8] = np.sqrt(0.25) * noise[:, 0] + np.sqrt(0.75) * noise[:, 1]

    found = groups(codes_with(fill, 3))
    (own,) = found.groups
    assert own.latents == (4,) and own.otherwise == ("split over 4 and 8",)
    assert "in 4 (borderline: perhaps split over 4 and 8)" in own.says
    assert "borderline" in found.summary() and found.to_dict()["factors"][3]["otherwise"]


def test_passive_latents_are_not_used_even_where_their_means_know_a_factor() -> None:
    codes = rotated_codes(0)(0)
    mean = codes.mean.copy()
    mean[:, 0] = 0.1 * unit(codes.factors[:, 0])  # shape, drowned in a variance of one
    found = groups(replace(codes, mean=mean))
    assert found.used == (2, 4, 8)
    assert all(0 not in group.latents for group in found.groups)


def test_a_collapsed_model_has_no_groups() -> None:
    mean = 1e-3 * np.random.default_rng(0).standard_normal((500, 3))
    factors = np.arange(500)[:, None] % 4
    found = groups(Codes(mean, np.ones_like(mean), mean, factors, ("f",)))
    assert not found.groups and "f found in no latent (n = " in found.summary()


def test_groups_need_factors_and_rows() -> None:
    codes = rotated_codes(0)(0)
    with pytest.raises(ShapeError, match="factors"):
        groups(replace(codes, factors=None, factor_names=(), factor_sizes=()))
    short = Codes(codes.mean[:50], codes.variance[:50], codes.sample[:50], codes.factors[:50])
    with pytest.raises(ShapeError, match="at least 200 rows"):
        groups(short)


@pytest.mark.skipif(not PRETRAINED.exists(), reason="needs the shared third-party codes")
def test_btcvae_dsprites_is_read_as_x_and_y_rotated_in_4_and_8() -> None:
    arrays = np.load(PRETRAINED / "btcvae_dsprites_codes.npz")
    mean, variance = arrays["mu"].astype(float), np.exp(arrays["logvar"].astype(float))
    found = groups(Codes(mean, variance, mean, arrays["factors"].astype(int), NAMES))
    own = {group.factors: group for group in found.groups}
    assert own["x", "y"].latents == (4, 8)
    assert own["x", "y"].angle == pytest.approx(45, abs=5)
    assert own["scale",].latents == (2,)
    assert set(found.used) == {2, 3, 4, 6, 8}
