"""What users give as `prior=` becomes a prior of the same density, or a clear error."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch import distributions as td

from vaescope.distributions import DiagonalGaussian
from vaescope.errors import ShapeError, UsageError
from vaescope.prior_density import LaplaceDensity, standard_normal
from vaescope.priors import StudentTPrior, as_prior
from vaescope.vae import Prior

MEANS = torch.tensor([[0.0, 1.0, 2.0], [3.0, -1.0, 0.5]])
SCALES = torch.tensor([[0.5, 1.0, 2.0], [0.3, 0.2, 1.0]])
WEIGHTS = td.Categorical(torch.tensor([0.25, 0.75]))
GIVEN: dict[str, td.Distribution] = {
    "normal": td.Normal(MEANS[0], SCALES[0]),
    "batch of one": td.Normal(MEANS[:1], SCALES[:1]),
    "independent": td.Independent(td.Normal(MEANS[0], SCALES[0]), 1),
    "multivariate": td.MultivariateNormal(MEANS[0], torch.diag(SCALES[0] ** 2)),
    "student-t": td.StudentT(torch.tensor(4.0), MEANS[0], SCALES[0]),
    "laplace": td.Laplace(MEANS[0], SCALES[0]),
    "mixture": td.MixtureSameFamily(WEIGHTS, td.Independent(td.Normal(MEANS, SCALES), 1)),
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_torch_distribution_keeps_its_density(name: str) -> None:
    z = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    wanted = GIVEN[name].log_prob(z)
    wanted = wanted.sum(-1) if wanted.ndim == 2 else wanted
    prior = as_prior(GIVEN[name], 3)
    torch.testing.assert_close(prior().log_prob(z), wanted)
    np.testing.assert_allclose(prior.density().log_prob(z.numpy()), wanted, rtol=1e-5)


def test_a_number_holds_for_all_latents() -> None:
    assert as_prior(td.Normal(0.0, 1.0), 4).density().standard
    np.testing.assert_array_equal(as_prior(td.Laplace(0.0, 2.0), 3).density().variance, [8.0] * 3)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("normal", "N(0, I)"),
        ("student-t:5", "Student-t with 5 degrees of freedom"),
        ("sparse:0.8", "spike and slab with 0.8 in the spike"),
        ("laplace", "Laplace"),
    ],
)
def test_names_are_those_of_the_families(name: str, says: str) -> None:
    prior = as_prior(name, 3)
    assert (prior.density().says, prior.density().d) == (says, 3)


def test_priors_and_densities_are_taken_as_they_are() -> None:
    own, density = StudentTPrior(3, 5.0), LaplaceDensity(np.zeros(3), np.ones(3))
    assert as_prior(own, 3) is own
    assert as_prior(density, 3).density() is density


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        ("cauchy", UsageError, "no prior 'cauchy'"),
        ("student-t", UsageError, "student-t:5"),
        ("sparse:x", UsageError, "'x' in prior='sparse:x' is not a number"),
        ("normal:9", UsageError, "takes no number; got 9"),
        (3.0, UsageError, "prior is float"),
        (td.Gamma(1.0, 1.0), UsageError, "is a part of the line"),
        (td.Gamma(1.0, 1.0, validate_args=False), UsageError, "is a part of the line"),
        (standard_normal(3), ShapeError, "has 3 latents; the model has 2"),
        (td.Normal(torch.zeros(5, 2), 1.0), ShapeError, r"shape \(5, 2\)"),
    ],
)  # fmt: skip
def test_everything_else_is_refused_with_what_to_give(
    value: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        as_prior(value, 2)


def test_a_prior_of_the_user_s_own_says_what_it_has_to_implement() -> None:
    class Own(Prior):
        def forward(self, u: Tensor | None = None) -> DiagonalGaussian:
            return DiagonalGaussian(torch.zeros(1, 2), torch.zeros(1, 2))

    assert isinstance(as_prior(Own(), 2), Own)
    with pytest.raises(UsageError, match=r"Own has no known density.*density"):
        Own().density()
