"""How long somebody else's model takes: types and KL of 10,000 MNIST images, and the geometry of a
convolutional model of 16 latents at effort fast.

python benchmarks/strangers.py
"""

import itertools
import json
import time

import numpy as np
import torch
from torch import Tensor, nn

import vaescope as vs
from vaescope.data.mnist import mnist

IMAGES = 10_000
LATENTS = 16


class Basic(nn.Module):
    """784-400-20, as in the common example."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc21, self.fc22 = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
        self.fc3, self.fc4 = nn.Linear(20, 400), nn.Linear(400, 784)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.fc1(x.flatten(1)).relu()
        return self.fc21(h), self.fc22(h)

    def decode(self, z: Tensor) -> Tensor:
        images: Tensor = self.fc4(self.fc3(z).relu()).sigmoid()
        return images

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mu, logvar = self.encode(x)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decode(z), mu, logvar


class Convolutions(nn.Module):
    """Two convolutions each way, 32 and 64 channels."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(1, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(),
            nn.Flatten(), nn.Linear(64 * 49, 2 * LATENTS),
        )  # fmt: skip
        self.up = nn.Sequential(
            nn.Linear(LATENTS, 64 * 49), nn.ReLU(), nn.Unflatten(1, (64, 7, 7)),
            nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 1, 4, 2, 1),
            nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mu, logvar = self.down(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.up(z), mu, logvar


def trained(model: nn.Module, x: Tensor, *, steps: int) -> nn.Module:
    """Enough for latents to be used."""
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(steps):
        batch = x[torch.randint(len(x), (128,))]
        y, mu, logvar = model(batch)
        nats = nn.functional.binary_cross_entropy(y.view_as(batch), batch, reduction="sum")
        rate = 0.5 * (mu.square() + logvar.exp() - 1 - logvar).sum()
        optimiser.zero_grad()
        (nats + rate).backward()
        optimiser.step()
    return model.eval()


def main() -> None:
    torch.manual_seed(0)
    data = mnist()
    images = torch.from_numpy(data.rows(np.arange(IMAGES))).float()
    for name, model, effort, steps in (
        ("latents of 10,000 MNIST images", Basic(), "latents", 100),
        ("fast, convolutions of 16 latents", Convolutions(), "fast", 60),
    ):
        module = trained(model, images, steps=steps)
        parts: dict[str, float] = {}
        clock = [("reading", time.perf_counter())]

        def note(part: str, clock: list[tuple[str, float]] = clock) -> None:
            clock.append((part, time.perf_counter()))

        cpu = time.process_time()
        vs.inspect(module, images, effort=effort, images=False, progress=note)
        note("end")
        for (part, start), (_, stop) in itertools.pairwise(clock):
            parts[part] = stop - start
        whole = clock[-1][1] - clock[0][1]
        seconds = {name: {**parts, "wall": whole, "processor": time.process_time() - cpu}}
        print(json.dumps(seconds, indent=1), flush=True)


if __name__ == "__main__":
    main()
