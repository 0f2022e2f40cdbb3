"""What the studies of bhowal2024 measure themselves, on cases whose answers are known."""

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.geometry.jacobian import grams_of
from vaescope.studies.bhowal2024.bank import METHODS, SCALED, bank
from vaescope.studies.bhowal2024.correlated import PAIR, diagonal_lead
from vaescope.studies.bhowal2024.single_latent import STEPS, exponent, pairs, single
from vaescope.studies.bhowal2024.table_7 import PARTS, PRINTED, error_of
from vaescope.studies.bhowal2024.theorem_1 import within


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_is_the_power_of_the_step_whatever_the_latents_scale(power: float) -> None:
    changes = np.outer(np.array(STEPS) ** power, [0.1, 3.0, 40.0])
    assert exponent(changes, STEPS) == pytest.approx(power)


def test_only_steps_that_change_something_count() -> None:
    changed = np.array([[[True, False, False], [False, False, False]],
                        [[True, True, False], [False, True, False]]])  # fmt: skip
    assert single(changed) == pytest.approx(2 / 3)
    assert single(np.zeros((4, 2), bool)) is None


def test_true_pairs_are_read_as_single_changes_as_far_as_the_reading_is_right() -> None:
    factors = np.array([[a, b] for a in range(6) for b in range(6)])
    points, slack = np.arange(0, 36, 5), np.array([0, 1])
    exact = pairs(factors, factors, points, slack)
    # Five other classes of the first factor; of the second those that are two or more away.
    away = sum(abs(b - c) > 1 for b in factors[points, 1] for c in range(6))
    assert len(exact) == 5 * len(points) + away and single(exact) == 1.0
    # Where the second factor is read as the first, only steps of one class seem to be of one.
    misread = factors[:, [0, 0]]
    near = sum(abs(a - c) == 1 for a in factors[points, 0] for c in range(6))
    assert single(pairs(factors, misread, points, slack)) == near / (5 * len(points))


def test_the_slope_within_examples_does_not_see_what_examples_have_in_common() -> None:
    stream = np.random.default_rng(0)
    lengths = stream.uniform(0.5, 2.0, size=(30, 4))
    found = grams_of(lengths[:, :, None] * np.eye(4))
    scale = stream.uniform(0.01, 100.0, size=(30, 1))  # each example's own constant
    assert within(found, scale / lengths**2) == pytest.approx(-1.0)
    assert within(found, scale / lengths) == pytest.approx(-0.5)
    assert within(found, scale * np.ones((30, 4))) == pytest.approx(0.0, abs=1e-12)


def test_the_error_of_some_axes_is_the_variance_along_the_others() -> None:
    x = np.random.default_rng(1).normal(size=(50, 6)) * [5.0, 4.0, 3.0, 2.0, 1.0, 0.5]
    variances = np.linalg.eigvalsh(np.cov(x, rowvar=False, ddof=0))[::-1]
    assert error_of(x, 0, 2) == pytest.approx(variances[2:].sum())
    assert error_of(x, 4, 6) == pytest.approx(variances[:4].sum())
    assert error_of(x, 0, 0) == pytest.approx(variances.sum())


def test_the_parts_of_table_7_are_those_printed() -> None:
    assert set(PARTS) == set(PRINTED)
    for name, (begin, end) in PARTS.items():
        first, last = (
            (0, int(name.split()[-1])) if "first" in name else map(int, name.split(" to "))
        )
        assert (begin * 3000, end * 3000) == pytest.approx((first, last))


def _codes(turned: bool) -> Codes:
    """Two latents that hold x and y, or their sum and difference."""
    x, y = (np.repeat(np.arange(6), 5), np.tile(np.arange(5), 6))
    a, b = ((f - f.mean()) / f.std() for f in (x.astype(float), y.astype(float)))
    mean = np.column_stack([a + b, a - b] if turned else [a, b])
    return Codes(
        mean, np.full_like(mean, 0.1), mean, factors=np.column_stack([x, y]),
        factor_names=PAIR, factor_sizes=(6, 5),
    )  # fmt: skip


def test_the_diagonal_leads_only_where_latents_hold_sum_and_difference() -> None:
    assert diagonal_lead(_codes(turned=True)) == pytest.approx(0.5)
    assert diagonal_lead(_codes(turned=False)) == pytest.approx(-0.5)


def test_the_bank_scales_all_that_weighs_a_pixel() -> None:
    laptop, paper = ({c.labels["method"]: c.settings for c in bank(s)} for s in ("laptop", "paper"))
    assert tuple(laptop) == METHODS
    for method in ("beta-vae", "beta-tcvae"):
        assert laptop[method]["objective.beta"] == paper[method]["objective.beta"] * SCALED
    assert laptop["vae"]["objective.beta"] == laptop["beta-tcvae"]["objective.rate"] == SCALED
