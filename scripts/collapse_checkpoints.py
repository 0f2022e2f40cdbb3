"""Is a VAE under a strong rate read right at every moment of its training? Writes a table.

Twelve trainings of the example that most people begin with (MNIST in [0, 1], 784-400-20, binary
cross-entropy and beta times the KL), betas from 1 to 100, seven checkpoints each: 84 models. Each
is read with no argument but its images, and its KL per latent is compared with that of its own
means and variances.
"""

import argparse
import copy
import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from result_section import write_section
from torch import Tensor, nn
from torch.nn import functional as F

import vaescope as vs
from vaescope.errors import UsageError, VaescopeError
from vaescope.paths import data_folder

HEADING = "84 checkpoints of the basic example"
EXPLAINED = (
    "Made by `python scripts/collapse_checkpoints.py --out docs/results/strangers.md`.",
    "Twelve trainings of the common MNIST example (images in [0, 1], 784-400-20, binary",
    "cross-entropy and beta times the KL), seven checkpoints each. A cell has the outcome and the",
    "true rate in nats; where it is wrong, the rate that was found comes first.",
)
BETAS = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0, 70.0, 100.0)
CHECKPOINTS = (0, 10, 40, 100, 200, 300, 400)
BATCH = 128
ROWS = 500
EDGE = 0.02  # relative; a tenth of it in nats: codes are equal or they are not


class Example(nn.Module):
    """Written here after the common example: two heads, reparameterize, sigmoid."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(784, 400)
        self.fc21, self.fc22 = nn.Linear(400, 20), nn.Linear(400, 20)
        self.fc3, self.fc4 = nn.Linear(20, 400), nn.Linear(400, 784)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def decode(self, z: Tensor) -> Tensor:
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mu, logvar = self.encode(x.view(-1, 784))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def mnist(folder: Path) -> Tensor:
    """(60000, 1, 28, 28) in [0, 1]."""
    with gzip.open(folder / "train-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(), dtype=np.uint8, offset=16)
    return torch.from_numpy(pixels.reshape(-1, 1, 28, 28).astype(np.float32) / 255)


def checkpoints(beta: float, seed: int, images: Tensor) -> dict[int, Example]:
    """The model after each of CHECKPOINTS steps."""
    torch.manual_seed(seed)
    model = Example()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    kept = {}
    for step in range(CHECKPOINTS[-1] + 1):
        if step in CHECKPOINTS:
            kept[step] = copy.deepcopy(model).eval()
        x = images[torch.randint(len(images), (BATCH,))].flatten(1)
        recon, mu, logvar = model(x)
        distortion = F.binary_cross_entropy(recon, x, reduction="sum")
        rate = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        optimiser.zero_grad()
        ((distortion + beta * rate) / BATCH).backward()
        optimiser.step()
    return kept


@torch.no_grad()
def true_kl(model: Example, images: Tensor) -> np.ndarray:
    mu, logvar = model.encode(images.flatten(1))
    each = 0.5 * (mu.double() ** 2 + logvar.double().exp() - 1 - logvar.double())
    return each.mean(0).numpy()


def inspected(model: Example, images: Tensor) -> Any:
    """Codes and verdicts; the whole of `fast` where there is no effort for codes alone."""
    try:
        return vs.inspect(model, images, effort="latents", images=False)
    except UsageError as error:
        if "no effort" not in str(error):
            raise
        return vs.inspect(model, images, effort="fast", images=False)


def outcome(model: Example, images: Tensor) -> tuple[str, float | None]:
    """right, asked or wrong, and the rate that was found."""
    try:
        found = inspected(model, images)
    except VaescopeError:
        return "asked", None
    ordered = sorted(found.latents, key=lambda latent: latent.index)
    kl = np.array([np.nan if one.kl_nats is None else one.kl_nats for one in ordered])
    true = true_kl(model, images)
    equal = len(kl) == len(true) and np.allclose(kl, true, rtol=EDGE, atol=0.1 * EDGE)
    if equal:
        return "right", float(kl.sum())
    first = f"{found.verdicts[0].says} {found.verdicts[0].advice}" if found.verdicts else ""
    asks = any(f"{name}=" in first for name in ("value_range", "posterior", "output"))
    return "asked" if asks else "wrong", float(kl.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of MNIST's files; default: mnist "
                        "below $VAESCOPE_DATA or the user's cache folder")  # fmt: skip
    parser.add_argument("--out", type=Path, help="the page whose section is written anew")
    parser.add_argument("--betas", type=float, nargs="*", default=list(BETAS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    images = mnist(arguments.data or data_folder() / "mnist")
    shown = images[:ROWS]
    head = " | ".join(f"step {step}" for step in CHECKPOINTS)
    lines = [f"| beta | {head} |", "|---" * (len(CHECKPOINTS) + 1) + "|"]
    counts: Counter[str] = Counter()
    for beta in arguments.betas:
        cells = []
        # Its place among BETAS is its seed: a beta alone gives the same models as all together.
        seed = BETAS.index(beta) if beta in BETAS else len(BETAS)
        for model in checkpoints(beta, seed, images).values():
            word, rate = outcome(model, shown)
            counts[word] += 1
            true = float(true_kl(model, shown).sum())
            found = "" if rate is None or word == "right" else f" {rate:.2f} for"
            cells.append(f"{word}{found} {true:.2f}")
        lines.append(f"| {beta:g} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)  # noqa: T201
    summary = ", ".join(f"{word} {n}" for word, n in sorted(counts.items()))
    print(summary)  # noqa: T201
    if arguments.out:
        write_section(arguments.out, HEADING, [*EXPLAINED, "", *lines, "", f"Together: {summary}."])


if __name__ == "__main__":
    main()
