"""The pool: restarts of one model, of which the best and the worst are taken."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vaescope.build import data_settings
from vaescope.data import Dataset
from vaescope.encoding import load_vae
from vaescope.errors import UsageError
from vaescope.latents.unused import unused_units
from vaescope.metrics.mig import mig
from vaescope.opening import encode
from vaescope.perturbing.settings import PerturbSettings
from vaescope.runs import Run
from vaescope.settings import from_python
from vaescope.specs import Experiment, digest
from vaescope.training.group import train_alike
from vaescope.vae import VAE

__all__ = ["PoolModel", "Selection", "pool_experiments", "select", "train_pool"]

#: A latent whose mean variance is above this share of an unused one's is not in use.
UNUSED = 0.8
#: Seeds of one pool: pools of different seeds are disjoint.
SEEDS = 1000


@dataclass(frozen=True)
class PoolModel:
    """A model of the pool."""

    run: str  # digest
    seed: int
    mig: float
    used: int  # latents in use


@dataclass(frozen=True)
class Selection:
    """Who was taken, of whom."""

    entangled: tuple[PoolModel, ...]
    disentangled: tuple[PoolModel, ...]
    pool: tuple[PoolModel, ...]

    @property
    def contrast(self) -> float:
        """Least MIG of the disentangled less the largest of the entangled ones."""
        least = min(model.mig for model in self.disentangled)
        return least - max(model.mig for model in self.entangled)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "contrast": self.contrast}


def pool_experiments(
    data: Dataset, settings: PerturbSettings, others: Mapping[str, Any]
) -> list[Experiment]:
    """beta-VAEs with as many latents as factors; `others` are settings that override ours."""
    factors = data.require_factors("perturb")
    steps = int(others.get("steps", 9000))
    ours: dict[str, Any] = {
        "latent": len(factors.names), "batch": 32, "steps": steps,
        "objective": {"name": "beta-vae", "beta": {"name": "linear", "start": 0.0, "stop": 4.0,
                                                   "steps": max(steps // 9, 1)}},
        "optimiser": {"name": "adam", "lr": {"name": "cosine", "start": 2e-3, "stop": 0.0,
                                             "steps": steps}},
    }  # fmt: skip
    if data.shape[1:] not in ((32, 32), (64, 64)):
        ours["net"] = {"name": "mlp", "encoder": [128, 128], "decoder": [128, 128]}
    groups = {name.split(".")[0] for name in others}
    chosen = {name: value for name, value in ours.items() if name not in groups} | dict(others)
    start = settings.seed * SEEDS
    return [
        from_python("beta-vae", data_settings(data), {**chosen, "seed": start + k})
        for k in range(settings.pool)
    ]


def train_pool(
    experiments: list[Experiment], data: Dataset, folder: Path, stop: Callable[[], int]
) -> Iterator[str]:
    """Trains what is not trained yet; yields what it is doing."""
    runs = [Run.of(experiment, "beta-vae", folder) for experiment in experiments]
    for run, experiment in zip(runs, experiments, strict=True):
        run.create(experiment)
    for places, step in train_alike(runs, experiments, data, stop=stop):
        if step % 500 == 0:
            under_way = f"model {places[0] + 1}"
            if len(places) > 1:
                under_way = f"models {places[0] + 1} to {places[-1] + 1}"
            yield (f"pool: {under_way} of {len(experiments)}, step {step} of "
                   f"{experiments[0].steps}")  # fmt: skip


def measured(experiment: Experiment, data: Dataset, folder: Path) -> PoolModel:
    """MIG over all rows, 20 bins of the means, and how many latents are in use."""
    run = Run.of(experiment, "beta-vae", folder)
    codes = encode(run, data)
    used = int((codes.variance.mean(axis=0) < UNUSED * np.asarray(unused_units(codes))).sum())
    return PoolModel(digest(experiment), experiment.seed, float(mig(codes).value), used)


def select(models: list[PoolModel], factors: int, settings: PerturbSettings) -> Selection:
    """The best and the worst by MIG; over-pruned ones are left out unless that is switched off."""
    whole = [model for model in models if model.used >= factors or not settings.filtered]
    if len(whole) < 2 * settings.ensemble:
        raise UsageError(
            f"Of {len(models)} models {len(models) - len(whole)} use fewer than {factors} "
            f"latents, so {2 * settings.ensemble} cannot be chosen.",
            "Lower the strength (objective.beta), train longer (steps), or take a larger pool.",
        )
    ranked = sorted(whole, key=lambda model: (model.mig, model.seed))
    chosen = Selection(
        tuple(ranked[: settings.ensemble]), tuple(ranked[-settings.ensemble :]), tuple(models)
    )
    if chosen.contrast < settings.least_contrast:
        raise UsageError(
            f"The pool's MIG ranges from {ranked[0].mig:.2f} to {ranked[-1].mig:.2f}: the chosen "
            f"models differ by {chosen.contrast:.2f}; wanted {settings.least_contrast:g}.",
            "Take a larger pool, train longer (steps), or lower least_contrast.",
        )
    return chosen


def loaded(model: PoolModel, experiments: list[Experiment], folder: Path) -> VAE:
    """The networks of a model of the pool."""
    experiment = next(e for e in experiments if e.seed == model.seed)
    return load_vae(Run.of(experiment, "beta-vae", folder))
