"""One small VAE, trained once on 8x8 digits; every form of model in these tests is made of it, so
that its codes are the answer known beforehand."""

import pytest
import torch
from tests.adapters.forms import Core
from torch import Tensor
from torch.nn import functional as F


@pytest.fixture(scope="session")
def digits() -> Tensor:
    """1,797 images of 8x8 pixels in [0, 1]."""
    from sklearn.datasets import load_digits

    return torch.from_numpy(load_digits().images).float()[:, None] / 16


@pytest.fixture(scope="session")
def core(digits: Tensor) -> Core:
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        core = Core()
    optimiser = torch.optim.Adam(core.parameters(), lr=3e-3)
    for _ in range(600):
        x = digits[torch.randint(len(digits), (128,), generator=generator)].flatten(1)
        mean, logvar = core.posterior(x)
        z = mean + torch.randn(mean.shape, generator=generator) * (0.5 * logvar).exp()
        distortion = F.binary_cross_entropy_with_logits(core.logits(z), x, reduction="sum")
        rate = 0.5 * (mean.square() + logvar.exp() - 1 - logvar).sum()
        optimiser.zero_grad()
        (distortion + rate).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    core.requires_grad_(False)
    return core.eval()
