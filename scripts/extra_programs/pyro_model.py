"""A VAE of Pyro, trained for a moment and inspected: `scripts/extras.py` runs it."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Trace_ELBO
from torch import Tensor, nn

import vaescope as vs


class VAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8))
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 64), nn.Sigmoid())

    def model(self, x: Tensor) -> None:
        pyro.module("decoder", self.decoder)
        with pyro.plate("data", len(x)):
            z = pyro.sample("z", dist.Normal(x.new_zeros(len(x), 4), 1.0).to_event(1))
            pixels = dist.Bernoulli(self.decoder(z), validate_args=False)
            pyro.sample("x", pixels.to_event(1), obs=x)

    def guide(self, x: Tensor) -> None:
        pyro.module("encoder", self.encoder)
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        with pyro.plate("data", len(x)):
            pyro.sample("z", dist.Normal(mean, (0.5 * logvar).exp()).to_event(1))


pyro.set_rng_seed(0)
digits = vs.load_dataset("digits")
x = torch.from_numpy(digits.rows(range(512))).flatten(1)
vae = VAE()
svi = SVI(vae.model, vae.guide, pyro.optim.Adam({"lr": 1e-2}), Trace_ELBO())
for _ in range(60):
    for start in range(0, len(x), 64):
        svi.step(x[start : start + 64])
found = vs.inspect(vae, x, effort="fast")
print(found.summary())
assert max(one.kl_nats for one in found.latents) > 0.1
