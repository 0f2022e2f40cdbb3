"""Latents are matched whatever their order and sign; passive ones take no active one's place."""

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.comparing.matching import Match, match_latents
from vaescope.errors import ShapeError
from vaescope.latents import types

N = 200


def codes_of(*columns: np.ndarray, variances: tuple[float, ...] | None = None) -> Codes:
    mean = np.column_stack(columns).astype(np.float32)
    each = variances or (0.05,) * mean.shape[1]
    variance = np.tile(np.array(each, dtype=np.float32), (len(mean), 1))
    return Codes(mean, variance, mean)


def matched(*models: Codes) -> tuple[Match, ...]:
    return match_latents(models, [types(own) for own in models])


def latents(matches: tuple[Match, ...]) -> list[list[int | None]]:
    return [[None if found is None else found.latent for found in match] for match in matches]


@pytest.fixture
def sources() -> list[np.ndarray]:
    return list(np.random.default_rng(0).standard_normal((5, N)))


def test_permuted_and_mirrored_latents_are_matched_exactly(sources: list[np.ndarray]) -> None:
    a, b, c, *_ = sources
    matches = matched(codes_of(a, b, c), codes_of(-c, a, -b))
    assert latents(matches) == [[0, 1], [1, 2], [2, 0]]
    seconds = [match[1] for match in matches]
    assert [found.sign for found in seconds if found] == [1, -1, -1]
    np.testing.assert_allclose([f.correlation for f in seconds if f], [1, -1, -1], rtol=1e-12)


def test_monotonic_functions_are_the_same_latent(sources: list[np.ndarray]) -> None:
    a, b, *_ = sources
    matches = matched(codes_of(a, b), codes_of(np.exp(2 * b), a**3))
    assert latents(matches) == [[0, 1], [1, 0]]
    assert all(found and found.correlation == pytest.approx(1) for (_, found) in matches)


def test_the_sum_counts_not_the_best_pair() -> None:
    """Correlations 0.9 and 0.8 of one latent with both, 0.7 and 0 of the other: 0.8 + 0.7 wins."""
    a, b, c = np.linalg.qr(np.random.default_rng(0).standard_normal((4000, 3)))[0].T
    first = codes_of(0.9 * a + 0.8 * b, a * 0.7 + c)
    second = codes_of(a, b)
    assert latents(matched(first, second)) == [[0, 1], [1, 0]]


def test_a_passive_copy_of_an_active_latent_does_not_take_its_place(
    sources: list[np.ndarray],
) -> None:
    """Means of passive latents copy active ones (bonheme2023), here exactly."""
    a, b, *_ = sources
    first = codes_of(a, b, variances=(0.05, 0.05))
    second = codes_of(0.01 * b, a, b + 0.3 * a, variances=(1.0, 0.05, 0.05))
    matches = matched(first, second)
    assert latents(matches) == [[0, 1], [1, 2], [None, 0]]


def test_passive_latents_are_paired_among_themselves_and_marked(sources: list[np.ndarray]) -> None:
    a, b, c, *_ = sources
    first = codes_of(0.01 * a, b, 0.01 * c, variances=(1.0, 0.05, 1.0))
    second = codes_of(b, -0.01 * c, 0.01 * a, variances=(0.05, 1.0, 1.0))
    matches = matched(first, second)
    assert latents(matches) == [[0, 2], [1, 0], [2, 1]]
    assert [match[1].how for match in matches if match[1]] == ["rest", "correlation", "rest"]


def test_what_has_no_counterpart_is_paired_with_what_is_left(sources: list[np.ndarray]) -> None:
    a, b, *_ = sources
    first = codes_of(a, b, variances=(0.05, 0.05))
    second = codes_of(b, 0.01 * b, variances=(0.05, 1.0))
    matches = matched(first, second)
    assert latents(matches) == [[0, 1], [1, 0]]
    assert matches[0][1] is not None and matches[0][1].how == "rest"


def test_passive_latents_go_together_before_one_that_is_used(sources: list[np.ndarray]) -> None:
    """Though its means are a copy of the used one's."""
    a, b, c, *_ = sources
    first = codes_of(a, b, 0.01 * c, variances=(0.05, 0.05, 1.0))
    second = codes_of(a, 0.01 * b, variances=(0.05, 1.0))
    assert latents(matched(first, second)) == [[0, 0], [1, None], [2, 1]]


def test_spare_latents_begin_matches_of_their_own(sources: list[np.ndarray]) -> None:
    a, b, c, d, e = sources
    matches = matched(codes_of(a, b), codes_of(d, a, b, c), codes_of(c, e, d))
    assert latents(matches)[2:] == [[None, 0, 2], [None, 3, 0]]
    assert sorted(x for row in latents(matches) if (x := row[2]) is not None) == [0, 1, 2]


def test_latents_that_the_first_model_does_not_use_are_matched_among_the_others(
    sources: list[np.ndarray],
) -> None:
    a, b, c, d, _ = sources
    first = codes_of(a, 0.01 * a, 0.01 * b, variances=(0.05, 1.0, 1.0))
    second = codes_of(c, a, d)
    third = codes_of(-d, c, a)
    matches = matched(first, second, third)
    assert {tuple(row[1:]) for row in latents(matches)} == {(0, 1), (1, 2), (2, 0)}
    assert {match[2].how for match in matches if match[2]} == {"correlation"}


def test_a_mirrored_representative_keeps_signs_consistent(sources: list[np.ndarray]) -> None:
    """The third is the second mirrored, whatever sign the second has against the first."""
    a, b, *_ = sources
    first = codes_of(a, 0.01 * b, variances=(0.05, 1.0))
    second, third = codes_of(-b, a), codes_of(a, b)
    match = next(m for m in matched(first, second, third) if m[1] and m[1].latent == 0)
    assert match[2] is not None and match[1] is not None
    assert match[2].sign == -match[1].sign


def test_constant_latents_are_no_error() -> None:
    constant = codes_of(np.zeros(N), np.zeros(N), variances=(1.0, 1.0))
    assert len(matched(constant, constant)) == 2


def test_codes_of_other_rows_are_refused(sources: list[np.ndarray]) -> None:
    with pytest.raises(ShapeError, match="same rows"):
        matched(codes_of(sources[0]), codes_of(sources[0][:-1]))
