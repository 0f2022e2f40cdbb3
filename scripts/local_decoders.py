"""How linear is a decoder around a code? Writes docs/results/local_decoders.md.

Tables 1 and 2 of paper 003 done like for like on models that nobody here trained: the nine of
YannDubs/disentangling-vae, rebuilt from the words of their README. Codes of the dSprites models
come with them; MNIST is encoded here.
"""

import argparse
import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from vaescope.geometry import LocalDecoders, Spread, local_decoders
from vaescope.geometry.result import spread_of
from vaescope.types import Floats

DSPRITES = ("VAE", "betaH", "betaB", "btcvae", "btcvae_a0")
MNIST = ("VAE", "betaH", "betaB", "btcvae")
PASSIVE = 0.9  # mean posterior variance above which noise of a latent is left out

State = Mapping[str, Tensor]


class ThirdPartyEncoder(nn.Module):
    """Convolutions and two linear layers; mean and log variance are interleaved."""

    def __init__(self, state: State, size: int) -> None:
        super().__init__()
        self.conv1, self.conv2, self.conv3 = (
            nn.Conv2d(channels, 32, 4, 2, 1) for channels in (1, 32, 32)
        )
        if size == 64:
            self.conv_64 = nn.Conv2d(32, 32, 4, 2, 1)
        self.lin1, self.lin2 = nn.Linear(512, 256), nn.Linear(256, 256)
        self.mu_logvar_gen = nn.Linear(256, 20)
        self.size = size
        self.load_state_dict(_part(state, "encoder."))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.conv3(self.conv2(self.conv1(x).relu()).relu()).relu()
        if self.size == 64:
            x = self.conv_64(x).relu()
        out = self.mu_logvar_gen(self.lin2(self.lin1(x.flatten(1)).relu()).relu())
        return out[:, 0::2], out[:, 1::2].exp()


class ThirdPartyDecoder(nn.Module):
    """Three linear layers and transposed convolutions to a Bernoulli mean."""

    def __init__(self, state: State, size: int) -> None:
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(10, 256), nn.Linear(256, 256)
        self.lin3 = nn.Linear(256, 512)
        if size == 64:
            self.convT_64 = nn.ConvTranspose2d(32, 32, 4, 2, 1)
        self.convT1, self.convT2, self.convT3 = (
            nn.ConvTranspose2d(32, out, 4, 2, 1) for out in (32, 32, 1)
        )
        self.size = size
        self.load_state_dict(_part(state, "decoder."))

    def forward(self, z: Tensor) -> Tensor:
        x = self.lin3(self.lin2(self.lin1(z).relu()).relu()).relu().reshape(-1, 32, 4, 4)
        if self.size == 64:
            x = self.convT_64(x).relu()
        out: Tensor = self.convT3(self.convT2(self.convT1(x).relu()).relu()).sigmoid()
        return out


def _part(state: State, prefix: str) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}


def mnist(folder: Path, count: int) -> Floats:
    """The first training images at 32 pixels, values in [0, 1]."""
    with gzip.open(folder / "mnist" / "train-images-idx3-ubyte.gz") as file:
        raw = np.frombuffer(file.read(16 + count * 784), np.uint8, offset=16).reshape(-1, 28, 28)
    bilinear = Image.Resampling.BILINEAR
    large = [np.asarray(Image.fromarray(one).resize((32, 32), bilinear)) for one in raw]
    return np.stack(large)[:, None].astype(np.float32) / 255.0


@dataclass(frozen=True)
class Row:
    name: str
    used: int
    found: LocalDecoders


def fit(name: str, folder: Path, points: int) -> Row:
    size = 64 if "dsprites" in name else 32
    path = folder / "pretrained" / name / "model.pt"
    state = torch.load(path, weights_only=True, map_location="cpu")
    decoder = ThirdPartyDecoder(state, size).eval()
    if size == 64:
        with np.load(folder / "pretrained" / "codes" / f"{name}_codes.npz") as file:
            mean, variance = file["mu"], np.exp(file["logvar"])
    else:
        with torch.no_grad():
            encoded = ThirdPartyEncoder(state, size).eval()(torch.from_numpy(mnist(folder, 1000)))
        mean, variance = (part.numpy() for part in encoded)
    used = np.flatnonzero(variance.mean(axis=0) <= PASSIVE)
    rows = np.linspace(0, len(mean) - 1, points).astype(np.int64)
    found = local_decoders(decoder, mean[rows], variance[rows], columns=used)
    return Row(name, len(used), found)


def number(spread: Spread, digits: int = 3, *, sign: bool = False) -> str:
    low, high = spread.interval or (np.nan, np.nan)
    plus = "+" if sign else ""
    form = f"{{:{plus}.{digits}f}}"
    return f"{form.format(spread.value)} ({form.format(low)} to {form.format(high)})"


def over_models(values: list[float]) -> Spread:
    each: NDArray[np.float64] = np.array(values)
    return spread_of(each, "output")


def report(rows: list[Row], points: int) -> str:
    draws = sorted({row.found.draws for row in rows})
    lines = [
        "# Local decoders",
        "",
        "Made by `python scripts/local_decoders.py`: paper 003, Tables 1 and 2, done like for like",
        f"on {len(rows)} models of YannDubs/disentangling-vae (trained by others), at {points}",
        f"posteriors each; {draws[0]} to {draws[-1]} noise vectors to fit, 50 per latent, and as",
        "many fresh ones to judge. Noise goes into latents whose mean posterior variance is at",
        f"most {PASSIVE}. Output space (sigmoid means); squared error. torch {version('torch')},",
        f"vaescope {version('vaescope')}, one thread. Intervals are 95% over points of one model,",
        "or over models in the last line; one seed per model.",
        "",
        "## Error of the local decoder",
        "",
        "E||Dec(mu + eps) - Dec(mu) - f(eps)||^2 / E||Dec(mu + eps) - Dec(mu)||^2 on fresh noise.",
        "Linear by least squares; g tanh(M eps / g) to convergence from there; quadratic by least",
        "squares. Gains are differences to linear at the same points: positive is nearer.",
        "",
        "| model | latents | linear | tanh | quadratic | gain of tanh | gain of quadratic |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        e = row.found.errors
        lines.append(
            f"| {row.name} | {row.used} | {number(e.linear)} | {number(e.tanh)} | "
            f"{number(e.quadratic)} | {number(e.tanh_gain, 4, sign=True)} | "
            f"{number(e.quadratic_gain, sign=True)} |"
        )
    errors = [row.found.errors for row in rows]
    tanh = over_models([e.tanh_gain.value for e in errors])
    quadratic = over_models([e.quadratic_gain.value for e in errors])
    share = np.mean([e.tanh_gain.value / e.linear.value for e in errors])
    removed = np.mean([e.quadratic_gain.value / e.linear.value for e in errors])
    lines += [
        f"| over {len(rows)} models | | {over_models([e.linear.value for e in errors]).value:.3f} "
        f"| {over_models([e.tanh.value for e in errors]).value:.3f} "
        f"| {over_models([e.quadratic.value for e in errors]).value:.3f} "
        f"| {number(tanh, 4, sign=True)} | {number(quadratic, sign=True)} |",
        "",
        f"The paper's tanh removes {share:.1%} of the linear error on average, the quadratic "
        f"{removed:.1%}.",
        "An odd function such as tanh cannot follow curvature.",
        "",
        "## Estimates of the stochastic loss",
        "",
        "Mean over points of |estimate - L| / L with L = E||Dec(mu + eps) - Dec(mu)||^2; estimates",
        "are E||J eps||^2 and E||f(eps)||^2 at the same fresh noise.",
        "",
        "| model | L | Jacobian | linear | tanh | quadratic |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        loss = row.found.stochastic_loss
        cells = " | ".join(number(error) for error in loss.relative_errors.values())
        lines.append(f"| {row.name} | {loss.value:.3f} | {cells} |")
    better = sum(
        row.found.stochastic_loss.relative_errors["tanh"].value
        < row.found.stochastic_loss.relative_errors["jacobian"].value
        for row in rows
    )
    lines += [
        "",
        f"The tanh decoder's estimate is nearer than the Jacobian's for {better} of {len(rows)} "
        "models. A least-squares fit leaves out",
        "what it cannot follow, so that E||f||^2 falls short of L by about its own error; the",
        "Jacobian's estimate has no such shortfall, but errs where the decoder bends.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, default=Path("docs/results/local_decoders.md"))
    parser.add_argument("--points", type=int, default=60)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names = [
        *(f"{kind.removesuffix('_a0')}_dsprites" + ("_a0" if "a0" in kind else "")
          for kind in DSPRITES),
        *(f"{kind}_mnist" for kind in MNIST),
    ]  # fmt: skip
    rows = [fit(name, arguments.data, arguments.points) for name in names]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(report(rows, arguments.points))


if __name__ == "__main__":
    main()
