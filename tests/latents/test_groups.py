"""Groups of latents on codes whose rotation is known.

Demanded are 190 of 200 draws of each case: `python tests/latents/test_groups.py 200` counts
them. The test takes 20 draws and demands 19, the same rate.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.latents import LatentGroups, groups

SIZES = (3, 6, 40, 32, 32)
NAMES = ("shape", "scale", "orientation", "x", "y")
PRETRAINED = Path(__file__).parents[3] / "shared" / "data" / "pretrained" / "codes"


def _codes(fill: Callable[[np.ndarray, np.ndarray, np.random.Generator], None], seed: int) -> Codes:
    """Factors as dSprites has them; ten latents, of which those that `fill` leaves are passive."""
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(size, size=2000) for size in SIZES], axis=1)
    mean = 0.02 * rng.standard_normal((2000, 10))
    variance = np.ones_like(mean)
    fill(mean, factors, rng)
    variance[:, mean.std(axis=0) > 0.1] = 0.02
    mean = mean + np.sqrt(variance) * 0.5 * rng.standard_normal(mean.shape) * (variance < 0.5)
    return Codes(mean, variance, mean, factors, NAMES, SIZES)


def _unit(factor: np.ndarray) -> np.ndarray:
    return (factor - factor.mean()) / factor.std()


def _turned(degrees: float, scale: float = 0.8) -> Callable[[int], Codes]:
    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        del rng
        angle = np.deg2rad(degrees)
        x, y = _unit(factors[:, 3]), scale * _unit(factors[:, 4])
        mean[:, 4] = np.cos(angle) * x + np.sin(angle) * y
        mean[:, 8] = -np.sin(angle) * x + np.cos(angle) * y
        mean[:, 2] = _unit(factors[:, 1])

    return lambda seed: _codes(fill, seed)


def _axis_aligned(found: LatentGroups) -> bool:
    own = {group.factors: (group.latents, group.angle) for group in found.groups}
    wanted = {("x",): ((4,), 0.0), ("y",): ((8,), 0.0), ("scale",): ((2,), 0.0)}
    return own == wanted and np.allclose(found.rotation, np.eye(10))


def _rotated_by(degrees: float) -> Callable[[LatentGroups], bool]:
    def right(found: LatentGroups) -> bool:
        own = {group.latents: group for group in found.groups}
        if set(own) != {(2,), (4, 8)} or own[4, 8].factors != ("x", "y"):
            return False
        angle = own[4, 8].angle
        return angle is not None and abs(angle - degrees) <= 5

    return right


def _split(seed: int) -> Codes:
    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        other = rng.standard_normal(len(mean))  # nothing that has a name
        scale = _unit(factors[:, 1])
        mean[:, 1], mean[:, 8] = (scale + other) / np.sqrt(2), (scale - other) / np.sqrt(2)
        mean[:, 4] = _unit(factors[:, 3])

    return _codes(fill, seed)


def _twice(seed: int) -> Codes:
    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        del rng
        mean[:, 1] = mean[:, 8] = _unit(factors[:, 1])
        mean[:, 4] = _unit(factors[:, 3])

    return _codes(fill, seed)


def _scale_is_split(found: LatentGroups) -> bool:
    return {(g.latents, g.factors) for g in found.groups} == {((1, 8), ("scale",)), ((4,), ("x",))}


def _angle(seed: int) -> Codes:
    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        del rng
        angle = 2 * np.pi * factors[:, 2] / 40
        mean[:, 3], mean[:, 6] = np.cos(angle), np.sin(angle)
        mean[:, 4] = _unit(factors[:, 3])

    return _codes(fill, seed)


def _orientation_is_cyclic(found: LatentGroups) -> bool:
    own = {(g.latents, g.factors, g.kind) for g in found.groups}
    return own == {((3, 6), ("orientation",), "cyclic"), ((4,), ("x",), "ordered")}


def _noise(seed: int) -> Codes:
    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        mean[:, :6] = rng.standard_normal((len(factors), 6))

    return _codes(fill, seed)


def _nothing(found: LatentGroups) -> bool:
    return not found.groups and all(factor.standing == "none" for factor in found.factors)


CASES: dict[str, tuple[Callable[[int], Codes], Callable[[LatentGroups], bool]]] = {
    "0 degrees": (_turned(0), _axis_aligned),
    "20 degrees": (_turned(20), _rotated_by(20)),
    "45 degrees": (_turned(45), _rotated_by(45)),
    "45 degrees of equal factors": (_turned(45, 1.0), _rotated_by(45)),
    "split": (_split, _scale_is_split),
    "twice": (_twice, _scale_is_split),
    "cyclic": (_angle, _orientation_is_cyclic),
    "noise": (_noise, _nothing),
}


@pytest.mark.parametrize("case", CASES)
def test_groups_say_what_the_codes_hold_in_95_of_100_draws(case: str) -> None:
    draw, right = CASES[case]
    assert sum(right(groups(draw(seed))) for seed in range(20)) >= 19


def test_the_rotation_gives_each_factor_its_axis() -> None:
    codes = _turned(30)(0)
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
    mean = np.stack([_unit(common), _unit(rng.integers(32, size=2000))], axis=1)
    codes = Codes(mean, np.full_like(mean, 0.01), mean, both, ("x", "y"))
    found = groups(codes)
    assert not found.groups and [f.standing for f in found.factors] == ["unnamed", "unnamed"]
    assert "correlated in the data" in found.summary()


def test_a_mixture_that_is_no_rotation_has_no_angle() -> None:
    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        del rng
        x, y = _unit(factors[:, 3]), _unit(factors[:, 4])
        mean[:, 4], mean[:, 8] = x + 0.8 * y, 0.8 * x + y  # columns at 12 degrees

    found = groups(_codes(fill, 0))
    assert [(g.latents, g.factors, g.angle) for g in found.groups] == [((4, 8), ("x", "y"), None)]
    np.testing.assert_array_equal(found.rotation, np.eye(10))


def test_passive_latents_are_not_used_even_where_their_means_know_a_factor() -> None:
    codes = _turned(0)(0)
    mean = codes.mean.copy()
    mean[:, 0] = 0.1 * _unit(codes.factors[:, 0])  # shape, drowned in a variance of one
    found = groups(replace(codes, mean=mean))
    assert found.used == (2, 4, 8)
    assert all(0 not in group.latents for group in found.groups)


def test_a_collapsed_model_has_no_groups() -> None:
    mean = 1e-3 * np.random.default_rng(0).standard_normal((500, 3))
    factors = np.arange(500)[:, None] % 4
    found = groups(Codes(mean, np.ones_like(mean), mean, factors, ("f",)))
    assert not found.groups and "f found in no latent (n = " in found.summary()


def test_groups_need_factors_and_rows() -> None:
    codes = _turned(0)(0)
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


if __name__ == "__main__":
    for name, (draw, right) in CASES.items():
        count = int(sys.argv[1])
        print(name, sum(right(groups(draw(seed))) for seed in range(count)), "of", count)
