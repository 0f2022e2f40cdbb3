"""The ELBO on rows held out of training: when to stop, and which weights to keep.

Prechelt 1998, Early Stopping - But When?, https://doi.org/10.1007/3-540-49430-8_3.
"""

from typing import Any

import torch

from vaescope.build import build_auxiliary
from vaescope.data import Dataset
from vaescope.data.splits import split
from vaescope.models import evaluating
from vaescope.objectives import Autoencoder, BetaVAE
from vaescope.specs import Experiment
from vaescope.training.checkpoint import measured_best
from vaescope.training.loop import State, fetch, noise_at
from vaescope.vae import VAE

__all__ = ["best_weights", "held_out_elbo", "is_due", "is_over", "note", "validation_rows"]

#: Held-out rows that are measured at most, the same each time.
ROWS = 10_000
BATCH = 256


def validation_rows(experiment: Experiment, data: Dataset) -> Dataset | None:
    """The rows whose ELBO says when to stop, where the experiment asks for that."""
    chosen = experiment.parts
    if experiment.validation is None or chosen is None:
        return None
    return split(data, chosen.seed, chosen.shares).validation


def held_out_elbo(
    vae: VAE, experiment: Experiment, data: Dataset, device: torch.device
) -> dict[str, float]:
    """Mean over the rows of log p(x|z) - KL(q(z|x) || p(z)) in nats, whatever was trained on, and
    its two parts. One sample of each posterior, the same at each call, so that calls can be
    compared. A plain autoencoder has no rate: of it, log p(x|z) at the mean."""
    plain = experiment.posterior.name == "point"
    objective = Autoencoder() if plain else BetaVAE()
    auxiliary = build_auxiliary(experiment, data)
    index = data.sample(ROWS, seed=0)
    sums: dict[str, float] = {}
    with evaluating(vae):
        for start in range(0, len(index), BATCH):
            batch = fetch(data, index[start : start + BATCH], device, auxiliary)
            shape = (1, len(batch.x), experiment.latent)
            noise = noise_at(experiment.seed, -1 - start, shape, device)  # no step has these
            terms = objective(vae, batch, torch.zeros((), device=device), noise)
            for name, part in {"elbo": -terms.loss, **terms.parts}.items():
                sums[name] = sums.get(name, 0.0) + part.item() * len(batch.x)
    return {name: total / len(index) for name, total in sums.items()}


def is_due(experiment: Experiment, step: int) -> bool:
    """Whether the ELBO is measured after this many steps."""
    chosen = experiment.validation
    return chosen is not None and (step % chosen.every == 0 or step == experiment.steps)


def note(state: State, elbo: float) -> None:
    """Keeps the weights where they are the best so far, else counts one more that are not."""
    known = state.validation
    if not known or elbo > known["elbo"].item():
        weights = state.vae.state_dict()
        known |= {
            f"weights.{name}": value.detach().cpu().clone() for name, value in weights.items()
        }
        known["elbo"] = torch.tensor(elbo, dtype=torch.float64)
        known["step"] = torch.tensor(state.step)
        known["worse"] = torch.tensor(0)
    else:
        known["worse"] = known["worse"] + 1


def is_over(experiment: Experiment, state: State) -> bool:
    """Whether the ELBO has not become better for as long as the patience lasts."""
    chosen = experiment.validation
    return (
        chosen is not None
        and bool(state.validation)
        and (int(state.validation["worse"]) >= chosen.patience)
    )


def best_weights(state: State) -> dict[str, Any]:
    """Gives the model its best weights. Returns what the run's end says of them."""
    known = state.validation
    if not known:
        return {}
    start = "weights."
    state.vae.load_state_dict(
        {name.removeprefix(start): value for name, value in known.items() if name.startswith(start)}
    )
    return measured_best(known)
