"""A VAE in plain torch, its loop written by hand, and `vs.watch` in it:
python examples/own_loop.py [--steps 2000] [--beta 4].

With --beta 1000 the posterior collapses, and the loop is told so.
"""

import argparse

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import vaescope as vs


class SpriteVAE(nn.Module):
    """Fully connected, for images of 32 by 32 pixels."""

    def __init__(self, latent: int = 10) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 2 * latent)
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent, 256), nn.ReLU(), nn.Linear(256, 1024), nn.Unflatten(1, (1, 32, 32))
        )

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        return mean, logvar

    def decode(self, z: Tensor) -> Tensor:
        return self.decoder(z)  # logits


def sprites() -> Tensor:
    """6,144 ellipses of all scales and places, drawn on the spot."""
    data = vs.load_dataset("dsprites", size=32, grid={"shape": [1], "orientation": [0]})
    return torch.from_numpy(data.rows(np.arange(len(data))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--beta", type=float, default=4.0)
    options = parser.parse_args()

    torch.manual_seed(0)
    images = sprites()
    model = SpriteVAE()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

    state = None
    for step in range(1, options.steps + 1):
        x = images[torch.randint(len(images), (64,))]
        mean, logvar = model.encode(x)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        distortion = F.binary_cross_entropy_with_logits(model.decode(z), x, reduction="sum")
        rate = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).sum()
        loss = (distortion + options.beta * rate) / len(x)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

        state = vs.watch(mean, logvar=logvar, state=state)
        if step % 200 == 0 or step == options.steps:
            print(f"{step:6,}  loss {loss.item():.1f}  {state.summary()}")
            if state.warning:
                print(f"        {state.warning}")


if __name__ == "__main__":
    main()
