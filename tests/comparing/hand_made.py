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
    vae = build_vae(spec)
    head = vae.encoder.posterior.head
    with torch.no_grad():
        head.weight[spec.latent :] = 0.0
        head.bias[spec.latent :] = torch.tensor(log_variances)
        head.weight[PASSIVE] *= 0.01
        head.bias[PASSIVE] = 0.0
    return spec, vae
