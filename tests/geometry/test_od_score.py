import numpy as np
import pytest
import torch
from scipy import stats

from vaescope.geometry import distance_of, grams_of, legacy_od, od_score, od_score_of
from vaescope.geometry.orthogonality import nearest_signed_permutation


def orthogonal(generator: np.random.Generator, n: int = 256, d: int = 6) -> np.ndarray:
    return np.linalg.qr(generator.normal(size=(n, d)))[0] * generator.uniform(1, 9, size=d)


def test_all_terms_are_zero_for_orthogonal_columns(generator: np.random.Generator) -> None:
    found = od_score_of(grams_of(np.array([orthogonal(generator) for _ in range(20)])))
    for value in (found.value, found.u.value, found.s.value, found.v.value):
        assert value < 1e-5


def test_terms_are_those_of_the_aligned_thin_factors(generator: np.random.Generator) -> None:
    """Written out with U, S and V of the singular value decomposition."""
    m = generator.normal(size=(40, 4)) * [4.0, 2.0, 1.0, 0.5]
    u, s, vh = np.linalg.svd(m, full_matrices=False)
    p = nearest_signed_permutation(vh.T)
    norms = np.linalg.norm(m, axis=0)
    found = od_score_of(grams_of(m[None]))
    assert found.u.value == pytest.approx(np.linalg.norm(u @ p.T - m / norms), abs=1e-9)
    assert found.v.value == pytest.approx(np.linalg.norm(vh.T @ p.T - np.eye(4)), abs=1e-9)
    wanted = np.linalg.norm(s - np.sort(norms)[::-1]) / np.linalg.norm(s)
    assert found.s.value == pytest.approx(wanted, abs=1e-9)
    total = (found.u.value**2 / 8 + found.s.value**2 + found.v.value**2 / 8) / 3
    assert found.value == pytest.approx(total, abs=1e-12)


def test_order_sign_and_scale_of_columns_do_not_matter(generator: np.random.Generator) -> None:
    m = generator.normal(size=(40, 4)) * [4.0, 2.0, 1.0, 0.5]
    moved = 7.0 * m[:, [2, 0, 3, 1]] * [1.0, -1.0, -1.0, 1.0]
    assert od_score_of(grams_of(moved[None])).value == pytest.approx(
        od_score_of(grams_of(m[None])).value, abs=1e-9
    )


def test_v_is_the_distance_to_orthogonality(generator: np.random.Generator) -> None:
    found = grams_of(generator.normal(size=(30, 12, 3)))
    assert od_score_of(found).v.value == pytest.approx(distance_of(found).value)
    assert 0.0 < od_score_of(found).value < 1.0


def test_the_released_formula_cannot_tell_orthogonal_from_random_and_ours_can(
    generator: np.random.Generator,
) -> None:
    d, n, draws = 10, 256, 20
    kinds = {
        "orthogonal": np.array([orthogonal(generator, n, d) for _ in range(draws)]),
        "random": generator.normal(size=(draws, n, d)),
    }
    legacy = {
        kind: np.array([[t.u, t.v] for t in map(legacy_od, stack)]) for kind, stack in kinds.items()
    }
    for term in (0, 1):
        a, b = legacy["orthogonal"][:, term], legacy["random"][:, term]
        # Both are near sqrt(2 d) = 4.47, whatever the matrix.
        assert abs(a.mean() - 4.47) < 0.7 and abs(b.mean() - 4.47) < 0.7
    v = {kind: terms[:, 1] for kind, terms in legacy.items()}
    assert v["orthogonal"].min() < v["random"].max()
    assert v["random"].min() < v["orthogonal"].max()
    ours = {kind: od_score_of(grams_of(stack)) for kind, stack in kinds.items()}
    assert ours["orthogonal"].v.value < 1e-5 and ours["random"].v.value > 2.0
    assert ours["orthogonal"].value < 1e-6 and ours["random"].value > 0.2


def test_chance_is_the_score_of_axes_turned_at_random(generator: np.random.Generator) -> None:
    """Matrices U S V' are made whole here, with V from SciPy."""
    for d in (2, 6):
        frame = np.linalg.qr(generator.normal(size=(40, d)))[0]
        singular = np.arange(d, 0, -1.0)
        turned = [
            (frame * singular) @ stats.ortho_group.rvs(d, random_state=generator)
            for _ in range(300)
        ]
        found = od_score_of(grams_of((frame * singular)[None]))
        assert found.value < 1e-6
        assert found.chance.value == pytest.approx(
            od_score_of(grams_of(np.array(turned))).value, rel=0.15
        )
        assert f"random axes {found.chance.value:.3f}" in found.summary()


def test_chance_rises_with_the_number_of_latents(generator: np.random.Generator) -> None:
    """Gaussian matrices have no preferred axes: .10 for two latents, .27 for six."""
    for d, wanted in ((2, 0.10), (6, 0.27)):
        found = od_score_of(grams_of(generator.normal(size=(400, d + 2, d))))
        assert found.value == pytest.approx(wanted, abs=0.01)
        assert found.chance.value == pytest.approx(found.value, abs=0.015)


def test_collinear_columns_exceed_one_and_stay_below_the_bound(
    generator: np.random.Generator,
) -> None:
    for d, wanted in ((2, 0.46), (20, 1.01), (50, 1.12)):
        nearly = generator.normal(size=(30, 1)) + 1e-3 * generator.normal(size=(30, d))
        value = od_score_of(grams_of(nearly[None])).value
        assert value == pytest.approx(wanted, abs=0.02)
        assert value < 4 / 3 - 1 / np.sqrt(d)


@pytest.mark.slow
def test_no_matrix_exceeds_the_bound(generator: np.random.Generator) -> None:
    for d in (2, 3, 7):
        scales = 10.0 ** generator.uniform(-3, 3, size=(15, 1, d))
        mixed = generator.normal(size=(15, 9, d)) * scales
        shared = mixed + 1e3 * generator.normal(size=(15, 9, 1))
        for one in np.concatenate([mixed, shared]):
            assert od_score_of(grams_of(one[None])).value < 4 / 3 - 1 / np.sqrt(d)


def test_columns_of_equal_norm_are_warned_of(generator: np.random.Generator) -> None:
    """Orthogonal all the same, but V is arbitrary, and the score with it."""
    equal = np.linalg.qr(generator.normal(size=(64, 10)))[0]
    found = od_score_of(grams_of(equal[None]))
    assert found.degenerate_share == 1.0
    assert "rotate freely" in found.warning and found.warning in found.summary()
    distinct = od_score_of(grams_of((equal * 2.0 ** np.arange(10))[None]))
    assert distinct.warning == "" and distinct.degenerate_share == 0.0


def test_it_takes_a_decoder_and_points() -> None:
    found = od_score(lambda z: torch.cat([z, z.sum(1, keepdim=True)], 1), np.zeros((5, 2)))
    assert found.n == 5
    assert found.to_dict()["u"]["n"] == 5
    assert "OD-Score" in found.summary()
