"""What docs/results/od-score.md says in words, by algebra that shares no code with its script."""

from pathlib import Path

import numpy as np

from vaescope.geometry import legacy_od

PAGE = Path(__file__).parents[2] / "docs" / "results" / "od-score.md"


def test_the_printed_exponent_keeps_both_factors_and_the_right_one_levels_singular_values() -> None:
    m = np.random.default_rng(0).normal(size=(20, 4))
    values, vectors = np.linalg.eigh(m.T @ m)
    root, inverse = ((vectors * values**power) @ vectors.T for power in (0.5, -0.5))
    printed, nearest = m @ root, m @ inverse
    # The same right singular vectors: M_hat' M_hat commutes with M'M; and the same column space.
    gram, other = m.T @ m, printed.T @ printed
    np.testing.assert_allclose(gram @ other, other @ gram, rtol=1e-8)
    np.testing.assert_allclose(m @ m.T @ printed @ printed.T, printed @ printed.T @ m @ m.T)
    np.testing.assert_allclose(nearest.T @ nearest, np.eye(4), atol=1e-10)
    assert "d_U is 0 for every matrix" in PAGE.read_text("utf-8").replace("\n", " ")


def test_a_signed_permutation_is_as_far_from_the_identity_as_a_random_rotation_on_average() -> None:
    draw = np.random.default_rng(0)
    d, squares, turned = 6, [], []
    for _ in range(2000):
        p = np.eye(d)[draw.permutation(d)] * draw.choice([-1, 1], size=d)
        squares.append(np.square(p - np.eye(d)).sum())
        q, r = np.linalg.qr(draw.normal(size=(d, d)))
        turned.append(np.square(q * np.sign(np.diag(r)) - np.eye(d)).sum())
    np.testing.assert_allclose([np.mean(squares), np.mean(turned)], 2 * d, rtol=0.02)


def test_the_released_distance_of_singular_values_is_about_scale_alone() -> None:
    # Orthogonal columns c_j: the elementwise root is diag(1 / |c_j|), so that N has norms of 1.
    norms = np.array([2.0, 1.5, 1.0, 0.5])
    m = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 4)))[0] * norms
    for scale in (0.1, 1.0, 10.0):
        wanted = np.linalg.norm(scale * norms - 1.0)
        np.testing.assert_allclose(legacy_od(scale * m).s, wanted, rtol=1e-6)
