import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from vaescope.aggregate_posterior import (
    Weights,
    chen_stratified,
    chen_weighted,
    exact,
    stratified,
    weighted,
)
from vaescope.distributions import DiagonalGaussian
from vaescope.objectives.elbo import BetaVAE
from vaescope.objectives.total_correlation import BetaTCVAE
from vaescope.schedules import Constant

ESTIMATORS = [weighted, stratified, chen_weighted, chen_stratified]


@pytest.mark.parametrize("posterior", ["diagonal", "full"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_beta_one_is_the_elbo(
    estimator: Weights, posterior: str, make_case: Callable[..., Any]
) -> None:
    case = make_case(posterior)
    ours = case(BetaTCVAE(Constant(1.0), estimator))
    torch.testing.assert_close(ours.loss, case(BetaVAE()).loss, atol=1e-5, rtol=0)


@pytest.mark.parametrize("posterior", ["diagonal", "full"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_parts_add_up_to_the_rate_at_the_sample(
    estimator: Weights, posterior: str, make_case: Callable[..., Any]
) -> None:
    """So Chen's form, mi + beta tc + dwkl, and ours differ by the noise of one sample's rate."""
    case = make_case(posterior)
    terms = case(BetaTCVAE(Constant(6.0), estimator))
    q = case.vae.encoder(case.batch.x)
    z = q.at(case.noise[0])
    sampled = (q.log_prob(z) - case.vae.prior().log_prob(z)).mean()
    parts = terms.parts
    three = (
        parts["index_code_information"] + parts["total_correlation"] + parts["dimension_wise_kl"]
    )
    torch.testing.assert_close(three, sampled, atol=1e-5, rtol=0)
    chens = parts["distortion"] + three + 5.0 * parts["total_correlation"]
    torch.testing.assert_close(terms.loss - chens, parts["rate"] - sampled, atol=1e-5, rtol=0)


@pytest.mark.parametrize("estimator", [weighted, stratified])
def test_a_batch_of_all_the_data_gives_the_exact_mixtures_parts(
    estimator: Weights, make_case: Callable[..., Any]
) -> None:
    case = make_case(rows=30, size=30)
    parts = case(BetaTCVAE(estimator=estimator)).parts
    q = case.vae.encoder(case.batch.x)
    truth = exact(q, q.at(case.noise[0]))
    torch.testing.assert_close(parts["total_correlation"], truth.total_correlation)
    torch.testing.assert_close(parts["index_code_information"], truth.index_code_information)


def test_the_stratified_estimate_knows_the_size_of_the_dataset(
    make_case: Callable[..., Any],
) -> None:
    """Codes that do not overlap know their row among all n: log n nats."""
    for size in (100, 5000):
        case = make_case(net="linear", size=size)
        head = case.vae.encoder.posterior.head
        with torch.no_grad():
            head.bias[3:] = -20.0
        parts = case(BetaTCVAE(estimator=stratified)).parts
        assert parts["index_code_information"].item() == pytest.approx(math.log(size))
        assert case(BetaTCVAE()).parts["index_code_information"].item() == pytest.approx(
            math.log(8)  # the batch is all that `weighted` knows of
        )


def test_weighted_has_dlibs_loss_up_to_its_constant(make_case: Callable[..., Any]) -> None:
    """dlib drops the normalisers: mean of logsumexp_j sum_l - sum_l logsumexp_j."""
    case = make_case(rows=6)
    q = case.vae.encoder(case.batch.x)
    z = q.at(case.noise[0])
    each = torch.stack(
        [
            torch.stack(
                [
                    torch.distributions.Normal(q.mean[j], q.variance[j].sqrt()).log_prob(z[i])
                    for j in range(6)
                ]
            )
            for i in range(6)
        ]
    )
    dlib = (each.sum(2).logsumexp(1) - each.logsumexp(1).sum(1)).mean()
    ours = case(BetaTCVAE()).parts["total_correlation"]
    torch.testing.assert_close(ours, dlib + 2 * math.log(6))


def test_codes_with_known_correlation_are_penalised_by_it(make_case: Callable[..., Any]) -> None:
    """A linear encoder of normal data: q(z) is normal, its total correlation in closed form."""
    case = make_case(net="linear", rows=1500, size=1500)
    head = case.vae.encoder.posterior.head
    with torch.no_grad():
        head.weight.zero_()
        head.bias.zero_()
        head.weight[0, 0] = head.weight[1, 0] = 0.5  # data have standard deviation 2
        head.bias[3:] = math.log(0.5)
    covariance = torch.tensor([[1.5, 1.0, 0.0], [1.0, 1.5, 0.0], [0.0, 0.0, 0.5]])
    truth = 0.5 * (covariance.diagonal().log().sum() - covariance.logdet()).item()
    found = case(BetaTCVAE()).parts["total_correlation"].item()
    assert found == pytest.approx(truth, abs=0.05)
    assert truth > 0.2


def test_a_broadcast_variance_counts_once_per_latent(make_case: Callable[..., Any]) -> None:
    """Isotropic posteriors may hold one log-variance per example."""
    case = make_case()
    mean = case.vae.encoder(case.batch.x).mean.detach()
    narrow = DiagonalGaussian(mean, torch.full((8, 1), -1.0, dtype=mean.dtype))
    wide = DiagonalGaussian(mean, torch.full((8, 3), -1.0, dtype=mean.dtype))
    z = wide.at(case.noise[0])
    for name in ("joint", "marginals", "conditional"):
        torch.testing.assert_close(getattr(exact(narrow, z), name), getattr(exact(wide, z), name))
