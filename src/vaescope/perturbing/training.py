"""The training of m against frozen encoders and their decoders. zietlow2022 sections 4.2 and 4.3.1.

What is drawn at a step is a function of (seed, step), so that a checkpoint needs no generator.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from vaescope.data import Dataset
from vaescope.distributions import DiagonalGaussian, Distribution
from vaescope.errors import Interrupted, NonFiniteError, RunError, UsageError
from vaescope.paths import replace_file
from vaescope.perturbing.network import PerturbationNetwork, moved
from vaescope.perturbing.settings import PerturbSettings
from vaescope.reading import parse_json
from vaescope.seeds import derive, order
from vaescope.types import Long, Single
from vaescope.vae import VAE, as_input

__all__ = ["Adversaries", "Trace", "train_network"]

CHECKPOINT_SECONDS = 10.0
RECORD = 50  # steps of m from one row of the trace to the next
_CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class Adversaries:
    """Entangled models, then disentangled ones: codes of the originals and decoders that learn."""

    decoders: nn.ModuleList
    means: Tensor  # (model, row, latent): encoders are frozen and see originals only
    deviations: Tensor
    entangled: int  # how many of the models, the first ones

    @staticmethod
    @torch.no_grad()
    def of(entangled: Sequence[VAE], disentangled: Sequence[VAE], x: Tensor) -> "Adversaries":
        codes = []
        for vae in (*entangled, *disentangled):
            q = [vae.encoder(x[start : start + 1024]) for start in range(0, len(x), 1024)]
            if not all(isinstance(part, DiagonalGaussian) for part in q):
                raise UsageError(
                    "perturb needs models with diagonal posteriors.", "Use posterior.name=diagonal."
                )
            mean = torch.cat([part.mean for part in q])
            codes.append((mean, torch.cat([part.variance for part in q]).sqrt()))
        return Adversaries(
            nn.ModuleList([vae.decoder.train() for vae in (*entangled, *disentangled)]),
            torch.stack([mean for mean, _ in codes]), torch.stack([std for _, std in codes]),
            len(entangled),
        )  # fmt: skip

    def losses(self, rows: Long, images: Tensor, noise: Tensor) -> Tensor:
        """Distortion of these images from samples of the originals' codes, nats, of each model;
        noise (model, sample, row, latent)."""
        samples = noise.shape[1]
        wanted = images.repeat(samples, *[1] * (images.ndim - 1))
        found = []
        for k, decoder in enumerate(self.decoders):
            z = (self.means[k, rows] + self.deviations[k, rows] * noise[k]).flatten(0, 1)
            found.append(-cast(Distribution, decoder(z)).log_prob(wanted).mean())
        return torch.stack(found)


@dataclass
class Trace:
    """Steps of m, and the mean distortion of entangled and of disentangled decoders there."""

    rows: list[tuple[float, float, float]] = field(default_factory=list)

    @property
    def tensor(self) -> Tensor:
        return torch.tensor(self.rows, dtype=torch.float64).reshape(-1, 3)


def train_network(
    network: PerturbationNetwork,
    adversaries: Adversaries,
    data: Dataset,
    inputs: Single,
    settings: PerturbSettings,
    *,
    state: Path,
    key: str,
    stop: Callable[[], int],
    trace: Trace,
) -> Iterator[int]:
    """Trains `network` in place, from `state` where there is one; yields after each step."""
    x, w = as_input(data.rows(np.arange(len(data))), _CPU), torch.from_numpy(inputs)
    modules: dict[str, nn.Module] = {"network": network, "decoders": adversaries.decoders}
    optimisers = {
        name: torch.optim.Adam(module.parameters(), lr=settings.lr, betas=(0.9, 0.999), eps=1e-7)
        for name, module in modules.items()
    }
    step = _load(state, key, modules, optimisers, trace) if state.exists() else 0
    sign = -1.0 if settings.kind == "reversed" else 1.0
    saved = time.monotonic()

    def keep() -> None:
        _save(state, key, step, modules, optimisers, trace)

    try:
        while step < settings.steps:
            for part in range(settings.decoder_batches):
                rows, noise = _drawn(settings, step, part, len(data), adversaries)
                with torch.no_grad():
                    images = moved(x[rows], network(w[rows]), settings.epsilon)
                # Each decoder's loss reaches its own weights only, so that their sum is enough.
                losses = adversaries.losses(rows, images, noise)
                _update(optimisers["decoders"], losses.sum())
            rows, noise = _drawn(settings, step, settings.decoder_batches, len(data), adversaries)
            images = moved(x[rows], network(w[rows]), settings.epsilon)
            losses = adversaries.losses(rows, images, noise)
            entangled = losses[: adversaries.entangled].mean()
            disentangled = losses[adversaries.entangled :].mean()
            _update(optimisers["network"], sign * (entangled - disentangled))
            step += 1
            if step % RECORD == 0:
                trace.rows.append((step, entangled.item(), disentangled.item()))
            if number := stop():
                keep()
                raise Interrupted(
                    f"Stopped by signal {number} after {step} steps of the perturbation.",
                    "Run the same command again to resume.", number,
                )  # fmt: skip
            if time.monotonic() - saved > CHECKPOINT_SECONDS:
                keep()
                saved = time.monotonic()
            yield step
        keep()
    except GeneratorExit:
        keep()
        raise


def _drawn(
    settings: PerturbSettings, step: int, part: int, n: int, adversaries: Adversaries
) -> tuple[Long, Tensor]:
    """Rows of a batch, and the noise of each model."""
    place = step * (settings.decoder_batches + 1) + part
    rows = order(derive(settings.seed, "perturbed rows"), place, batch=settings.batch, n=n)
    generator = torch.Generator().manual_seed(derive(settings.seed, "perturbed noise", place))
    models, _, latent = adversaries.means.shape
    shape = (models, settings.samples, settings.batch, latent)
    return rows, torch.randn(shape, generator=generator)


def _update(optimiser: torch.optim.Adam, loss: Tensor) -> None:
    if not torch.isfinite(loss):
        raise NonFiniteError(
            f"The loss of the perturbation became {loss.item()}.", "Lower its learning rate (lr)."
        )
    parameters = [p for group in optimiser.param_groups for p in group["params"]]
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    optimiser.step()


def _save(
    path: Path, key: str, step: int, modules: dict[str, nn.Module],
    optimisers: dict[str, torch.optim.Adam], trace: Trace,
) -> None:  # fmt: skip
    tensors = {"trace": trace.tensor}
    for group, module in modules.items():
        tensors |= {f"weights/{group}/{k}": v for k, v in module.state_dict().items()}
        for name, parameter in module.named_parameters():
            for part, value in optimisers[group].state[parameter].items():
                tensors[f"optimiser/{group}/{name}/{part}"] = value
    plain = {k: v.detach().clone(memory_format=torch.contiguous_format) for k, v in tensors.items()}
    facts = json.dumps({"key": key, "step": step}, sort_keys=True)
    replace_file(path, save(plain, {"vaescope": facts}))


def _load(
    path: Path, key: str, modules: dict[str, nn.Module],
    optimisers: dict[str, torch.optim.Adam], trace: Trace,
) -> int:  # fmt: skip
    remedy = "Delete it to train the perturbation again from the beginning."
    try:
        with safe_open(path, "pt") as file:
            facts = parse_json((file.metadata() or {})["vaescope"])
        tensors = load_file(path)
        if facts["key"] != key:
            raise RunError(f"{path} belongs to another perturbation.", remedy)
        for group, module in modules.items():
            start = f"weights/{group}/"
            module.load_state_dict(
                {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}
            )
            for name, parameter in module.named_parameters():
                start = f"optimiser/{group}/{name}/"
                for k, v in tensors.items():
                    if k.startswith(start):
                        kept = v
                        if v.shape == parameter.shape:
                            kept = torch.empty_like(parameter).copy_(v).detach()
                        optimisers[group].state[parameter][k.removeprefix(start)] = kept
        trace.rows[:] = [(int(a), b, c) for a, b, c in tensors["trace"].tolist()]
        return int(facts["step"])
    except (SafetensorError, KeyError, ValueError, RuntimeError, OSError) as error:
        raise RunError(f"{path} cannot be read: {error}.", remedy) from error
