import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from vaescope.errors import ShapeError
from vaescope.geometry import local_decoders, od_score_of
from vaescope.geometry.local_fit import fit_around, least_squares
from vaescope.nets import BernoulliLikelihood

MEAN, VARIANCE = np.zeros((6, 2), np.float32), np.full((6, 2), 0.25, np.float32)


def linear(z: Tensor) -> Tensor:
    return z @ z.new_tensor([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0]])


def curved(z: Tensor) -> Tensor:
    """Pure curvature beside a straight part."""
    return torch.cat([z, 0.4 * z**2], 1)


def cubic(z: Tensor) -> Tensor:
    """Saturates and has no even part."""
    return torch.cat([z - 0.3 * z**3, z], 1)


def mixed(z: Tensor) -> Tensor:
    return torch.cat([z + 0.6 * z**2 - 0.3 * z**3, torch.sin(2.0 * z)], 1)


@pytest.mark.slow
def test_a_linear_decoder_is_fitted_exactly_by_all() -> None:
    found = local_decoders(linear, MEAN, VARIANCE)
    errors = found.errors
    for error in (errors.linear, errors.intercept, errors.tanh, errors.quadratic):
        assert error.value < 1e-9
    for name in ("jacobian", "linear", "intercept", "quadratic"):
        assert found.stochastic_loss.relative_errors[name].value < 1e-4
    # E||M eps||^2 = sum_j sigma_j^2 ||c_j||^2, here 0.25 (5 + 1.25)
    assert found.stochastic_loss.jacobian_exact.value == pytest.approx(1.5625, rel=1e-5)
    assert found.stochastic_loss.value == pytest.approx(1.5625, rel=0.1)


def test_the_intercept_is_the_mean_of_the_curvature_and_the_quadratic_follows_all_of_it() -> None:
    """Per latent E t^2 = s + 0.16 * 3 s^2 with s = 0.25; a line leaves 0.16 * 3 s^2 = 0.03 of 0.28,
    with intercept 0.16 Var z^2 = 0.16 * 2 s^2 = 0.02."""
    found = local_decoders(curved, MEAN, VARIANCE, draws=4000).errors
    assert found.linear.value == pytest.approx(0.03 / 0.28, rel=0.1)
    assert found.intercept.value == pytest.approx(0.02 / 0.28, rel=0.1)
    assert found.intercept_gain.value == pytest.approx(0.01 / 0.28, rel=0.1)
    assert found.quadratic.value < 1e-9
    assert found.tanh.value > 0.5 * found.linear.value  # it is monotone along M eps, z^2 is not


def test_tanh_follows_a_sigmoid_away_from_its_centre_by_its_bias() -> None:
    """There a sigmoid bends: an odd function about the code leaves most of what a line does."""
    found = local_decoders(
        lambda z: torch.sigmoid(3.0 * z + 1.5), MEAN, VARIANCE, draws=1000
    ).errors
    assert found.tanh.value < 1e-3 < 0.02 < found.intercept.value < found.linear.value
    assert found.tanh.value < 0.1 * found.quadratic.value


def test_tanh_wins_where_the_decoder_saturates() -> None:
    found = local_decoders(cubic, MEAN, VARIANCE, draws=2000).errors
    assert found.tanh.value < 0.6 * found.linear.value
    assert found.tanh.value < 0.6 * found.quadratic.value
    assert found.tanh_gain.interval is not None and found.tanh_gain.interval[0] > 0


def test_where_a_decoder_bends_and_saturates_tanh_with_its_bias_and_the_quadratic_win() -> None:
    found = local_decoders(mixed, MEAN + 0.3, VARIANCE, draws=2000).errors
    assert found.tanh.value < found.quadratic.value < found.intercept.value < found.linear.value
    assert found.quadratic_gain.interval is not None and found.quadratic_gain.interval[0] > 0


def test_small_noise_makes_all_agree_with_the_jacobian() -> None:
    found = local_decoders(mixed, MEAN + 0.3, np.full((6, 2), 1e-6, np.float32))
    assert found.errors.linear.value < 1e-4
    for error in found.stochastic_loss.relative_errors.values():
        assert error.value < 1e-3


def test_noise_goes_into_the_chosen_columns_only() -> None:
    found = local_decoders(linear, MEAN, VARIANCE, columns=[1])
    assert found.stochastic_loss.jacobian_exact.value == pytest.approx(0.25 * 1.25, rel=1e-5)
    np.testing.assert_allclose(found.linear.values, 1.25, rtol=1e-5)
    assert found.linear.columns == (1,)


def test_fitted_matrices_go_on_to_the_od_score() -> None:
    straight = local_decoders(lambda z: z * z.new_tensor([2.0, 1.0]), MEAN, VARIANCE)
    assert od_score_of(straight.linear).value < 1e-6
    np.testing.assert_allclose(straight.linear.values[0], np.diag([4.0, 1.0]), atol=1e-6)
    assert od_score_of(local_decoders(linear, MEAN, VARIANCE).tanh).value > 1e-3


def test_likelihood_space_is_named() -> None:
    found = local_decoders(
        linear, MEAN, VARIANCE, likelihood=BernoulliLikelihood(), space="likelihood"
    )
    assert found.errors.space == found.linear.space == "likelihood"
    # p (1 - p) = 1/4 at logits of 0, where the weights are taken
    assert found.stochastic_loss.jacobian_exact.value == pytest.approx(1.5625 / 4, rel=1e-5)
    assert found.errors.linear.value < 1e-9


def test_the_same_seed_gives_the_same_numbers() -> None:
    a, b, c = (local_decoders(mixed, MEAN, VARIANCE, seed=seed).errors for seed in (0, 0, 1))
    np.testing.assert_allclose(a.per_point, b.per_point, rtol=1e-9)
    assert not np.allclose(a.per_point, c.per_point, rtol=1e-3)


def test_fewer_nonlinear_fits_leave_the_linear_ones_and_their_own_points_as_they_are() -> None:
    mean = np.linspace(-1, 1, 12, dtype=np.float32).reshape(6, 2)
    every, few = (local_decoders(mixed, mean, VARIANCE, nonlinear=n) for n in (None, 3))
    ends_and_middle = [0, 2, 5]
    for part, n in (("linear", 6), ("intercept", 6), ("tanh", 3), ("quadratic", 3)):
        assert few.to_dict()["errors"][part]["n"] == n
        assert few.to_dict()["stochastic_loss"][part]["n"] == n
        assert few.stochastic_loss.relative_errors[part].n == n
    assert few.errors.n == few.stochastic_loss.n == few.stochastic_loss.jacobian.n == 6
    assert few.errors.tanh_gain.n == few.errors.quadratic_gain.n == few.tanh.n == 3
    same = every.errors.per_point.copy()
    same[[1, 3, 4], 2:] = np.nan
    np.testing.assert_allclose(few.errors.per_point, same, rtol=1e-9)
    linear, _, tanh, quadratic = every.errors.per_point[ends_and_middle].T
    assert few.errors.tanh_gain.value == pytest.approx(np.mean(linear - tanh))
    assert few.errors.quadratic_gain.value == pytest.approx(np.mean(linear - quadratic))
    assert "over 6 points; over 3 of them tanh" in few.summary()
    with pytest.raises(ShapeError, match="at least one"):
        local_decoders(mixed, mean, VARIANCE, nonlinear=0)


@pytest.mark.parametrize("name", ["linear", "intercept", "quadratic"])
def test_a_draw_left_out_is_what_a_fit_without_it_says(name: str) -> None:
    stream = torch.Generator().manual_seed(0)
    xi, target = (
        torch.randn((24, width), generator=stream, dtype=torch.float64) for width in (3, 5)
    )
    line = fit_around(xi, target, nonlinear=True).lines[name]
    rows, values = line.features(xi).numpy(), np.empty_like(target.numpy())
    for i in range(24):
        others = np.arange(24) != i
        values[i] = rows[i] @ np.linalg.lstsq(rows[others], target[others].numpy())[0]
    found = line.left_out(line.along(target), target.square().sum(1))
    wanted = [np.mean(np.sum(own**2, axis=1)) for own in (values, values - target.numpy())]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("name", ["linear", "intercept", "quadratic"])
def test_at_other_noise_a_line_is_its_features_times_its_solution(name: str) -> None:
    stream = torch.Generator().manual_seed(1)
    xi, noise = (torch.randn((40, 3), generator=stream, dtype=torch.float64) for _ in range(2))
    target, truth = mixed(xi), mixed(noise)
    line = fit_around(xi, target, nonlinear=True).lines[name]
    wanted = np.linalg.lstsq(line.features(xi).numpy(), target.numpy(), rcond=None)[0]
    values = line.features(noise).numpy() @ wanted
    found = line.at(noise, truth, truth.square().sum(1))
    missed = values - truth.numpy()
    of_both = [np.mean(np.sum(own**2, axis=1)) for own in (values, missed)]
    np.testing.assert_allclose(found, of_both, rtol=1e-9)


@pytest.mark.slow
def test_draws_left_out_agree_with_fresh_ones_up_to_the_luck_of_the_draws() -> None:
    """Twenty repetitions each: means agree within their standard errors, and neither way spreads
    more; a decoder is asked for half as many draws."""
    asked = []

    def counted(z: Tensor) -> Tensor:
        asked.append(len(z))
        return mixed(z)

    rows: dict[bool, list[list[float]]] = {True: [], False: []}
    draws = {}
    for fresh, table in rows.items():
        for seed in range(20):
            asked.clear()
            found = local_decoders(
                counted, MEAN + 0.3, VARIANCE, nonlinear=1, draws=200, fresh=fresh, seed=seed
            ).errors
            table.append([getattr(found, name).value for name in ("linear", "intercept")])
        draws[fresh] = sum(asked)
    fresh_ones, left_out = (np.array(rows[key]) for key in (True, False))
    error = np.sqrt((fresh_ones.var(axis=0) + left_out.var(axis=0)) / 19)
    assert np.all(np.abs(fresh_ones.mean(axis=0) - left_out.mean(axis=0)) < 3.5 * error)
    assert np.all(left_out.std(axis=0) < 1.6 * fresh_ones.std(axis=0))
    assert draws[False] < 0.65 * draws[True]


def test_noise_is_wanted_and_enough_draws() -> None:
    with pytest.raises(ShapeError, match="positive variance"):
        local_decoders(linear, MEAN, np.zeros_like(VARIANCE))
    with pytest.raises(ShapeError, match="quadratic terms"):
        local_decoders(linear, MEAN, VARIANCE, draws=5)


@pytest.mark.slow
def test_on_a_real_decoder_the_nonlinear_models_are_nearer(
    third_party: Callable[[str], object],
) -> None:
    model = third_party("btcvae_dsprites")
    found = local_decoders(
        model.decode, model.mean[:8], model.variance[:8], columns=model.used, draws=250
    )
    assert found.errors.quadratic_gain.interval is not None
    assert found.errors.quadratic_gain.interval[0] > 0
    errors = found.errors
    assert errors.tanh.value < errors.intercept.value < errors.linear.value
    assert errors.tanh_gain.value > 0.4 * errors.linear.value  # 2.8% of it without the bias
    assert set(found.to_dict()) == {"errors", "stochastic_loss", "draws"}
    assert "gain over linear" in found.summary()


def test_the_decoder_runs_in_the_callers_thread_only() -> None:
    """Anybody's decoder may keep a state; the fits run beside it."""
    threads = set()

    def watched(z: Tensor) -> Tensor:
        threads.add(threading.get_ident())
        return mixed(z)

    before = torch.get_num_threads()
    local_decoders(watched, MEAN, VARIANCE)
    assert threads == {threading.get_ident()}
    assert torch.get_num_threads() == before


def test_least_squares_are_numpys() -> None:
    generator = torch.Generator().manual_seed(0)
    features, target = (
        torch.randn((50, width), generator=generator, dtype=torch.float64) for width in (4, 7)
    )
    wanted = np.linalg.lstsq(features.numpy(), target.numpy(), rcond=None)[0]
    line, _ = least_squares(lambda noise: noise, features, target)
    np.testing.assert_allclose(line.solution, wanted, rtol=1e-10)
