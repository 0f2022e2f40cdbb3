"""Weights of another run as the start of this one: `init_from=RUN`."""

import hashlib
from pathlib import Path

from vaescope.errors import RunError
from vaescope.runs import Run
from vaescope.specs import Experiment
from vaescope.training.checkpoint import load_weights
from vaescope.vae import VAE

__all__ = ["warm_start"]


def warm_start(experiment: Experiment, vae: VAE) -> None:
    """Copies the weights of the run that `init_from` names; without it nothing happens.

    Raises:
        RunError: they are not there any more, have changed, or are of another model.
    """
    origin = experiment.init_from
    if origin is None:
        return
    run = Run(Path(origin.path))
    there = run.is_done and hashlib.sha256(run.weights.read_bytes()).hexdigest()
    if there != origin.weights:
        raise RunError(
            f"init_from={origin.path} does not hold the weights that this run starts from "
            f"(run {origin.run[:8]}, sha256 {origin.weights[:8]}).",
            "Put that run back, or give the command with another init_from.",
        )
    load_weights(run.weights, vae, sha256=origin.weights)
