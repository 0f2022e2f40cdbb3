"""Runs with weights set by hand, in milliseconds: what differs between them is known."""

import math
from collections.abc import Sequence
from pathlib import Path

import torch

from vaescope.build import build_vae
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.specs import Experiment
from vaescope.training.checkpoint import weights_bytes
from vaescope.vae import VAE

SETTINGS = (
    "data.name=synth-linear", "data.n=300", "latent=4", "steps=20",
    "net.name=mlp", "net.encoder=[8]", "net.decoder=[8]",
)  # fmt: skip
#: Of each latent: a passive one among three active ones.
LOG_VARIANCES = tuple(math.log(v) for v in (0.01, 1.0, 0.02, 0.05))
PASSIVE = 1


def write_run(folder: Path, name: str, spec: Experiment, vae: VAE) -> Run:
    run = Run(folder / name)
    run.create(spec)
    run.weights.write_bytes(weights_bytes(vae))
    run.finish({})
    return run


def hand_made(
    *settings: str, log_variances: Sequence[float] = LOG_VARIANCES
) -> tuple[Experiment, VAE]:
    """A model whose posterior variances are constants, and whose passive means hardly move."""
    spec = from_command_line("beta-vae", [*SETTINGS, *settings])
    return spec, typed(build_vae(spec), log_variances)


def of_images(seed: int) -> tuple[Experiment, VAE]:
    """The same on the demo's images."""
    spec = from_command_line("demo", ["latent=4", f"seed={seed}"])
    return spec, typed(build_vae(spec), LOG_VARIANCES)


def typed(vae: VAE, log_variances: Sequence[float]) -> VAE:
    """The model with these variances; none for a point posterior."""
    head = vae.encoder.posterior.head
    with torch.no_grad():
        if log_variances:
            head.weight[len(log_variances) :] = 0.0
            head.bias[len(log_variances) :] = torch.tensor(log_variances)
        head.weight[PASSIVE] *= 0.01
        head.bias[PASSIVE] = 0.0
    return vae
