"""Dissects a model that vaescope trained: its spec says what nobody has to infer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vaescope.build import build_auxiliary, build_vae
from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.encoding import encode
from vaescope.inspection.dissect import Anatomy, Progress, dissect, silent
from vaescope.inspection.effort import effort_named
from vaescope.inspection.fit import LogPrior
from vaescope.inspection.results import Inspection, Settings, Subject, Training
from vaescope.prior_density import GaussianDensity
from vaescope.specs import CosineSpec, Experiment, LinearSpec, to_dict
from vaescope.types import Integers
from vaescope.vae import VAE

__all__ = ["inspect_trained"]


def inspect_trained(
    vae: VAE,
    spec: Experiment,
    data: Dataset,
    records: Sequence[dict[str, Any]],
    *,
    name: str,
    environment: dict[str, Any] | None = None,
    effort: str = "default",
    images: bool = True,
    progress: Progress = silent,
) -> Inspection:
    """Dissects the model on at most 10,000 examples; `records` are of its training."""
    size = effort_named(effort)
    rows = data.sample(size.rows, seed=0)
    progress("codes")
    codes = encode(vae, data, index=rows, auxiliary=build_auxiliary(spec, data))
    beta = getattr(spec.objective, "beta", None)
    anatomy = Anatomy(
        _subject(name, spec, data, codes.n), data, rows, codes, vae.decoder,
        latents=lambda places: codes.mean[places], decode_latents=vae.decoder,
        log_prior=_log_prior(vae, codes), module=vae.decoder,
        closed=isinstance(codes.prior, GaussianDensity),
        beta=_last(beta),
        untrained=lambda seed: build_vae(spec.model_copy(update={"seed": seed})).decoder.eval(),
    )  # fmt: skip
    found = dissect(
        anatomy, size, images=images, training=_training(records, spec), progress=progress
    )
    return replace(found, settings=Settings(to_dict(spec), environment or {}))


def _training(records: Sequence[dict[str, Any]], spec: Experiment) -> Training | None:
    rows = [row for row in records if "distortion" in row]
    if not rows:
        return None

    def column(name: str) -> NDArray[np.float64]:
        # A null in the history was no finite number; a plain autoencoder has no rate.
        values = [row.get(name) for row in rows]
        return np.array([np.nan if value is None else value for value in values])

    def counts(name: str) -> NDArray[np.int64]:
        return np.array([row[name] for row in rows], dtype=np.int64)

    return Training(
        counts("step"), column("loss"), column("distortion"), column("rate"),
        counts("active"), counts("mixed"), counts("passive"), _since(spec),
    )  # fmt: skip


def _since(spec: Experiment) -> int:
    """When the last schedule of the objective ended. The learning rate may fall to the very end."""
    lengths = [getattr(value, "steps", 0) for value in dict(spec.objective).values()]
    return max([0, *(length for length in lengths if isinstance(length, int))])


def _subject(name: str, spec: Experiment, data: Dataset, n: int) -> Subject:
    beta: Any = getattr(spec.objective, "beta", None)
    strength = f" (beta {beta:g})" if isinstance(beta, float) else ""
    if isinstance(beta, LinearSpec | CosineSpec):
        strength = f" (beta from {beta.start:g} to {beta.stop:g})"
    says = (
        f"{spec.objective.name}{strength} with {spec.latent} latents, trained for "
        f"{spec.steps:,} steps on {data.name}, seed {spec.seed}."
    )
    if spec.pruned is not None:
        says += f" Pruned from {spec.pruned.latent} latents (run {spec.pruned.run[:8]})."
    return Subject(name, data.name, n, len(data), says)


def _last(beta: Any) -> float | None:
    """The strength that training ended with."""
    last = getattr(beta, "stop", beta)
    return last if isinstance(last, float) else None


def _log_prior(vae: VAE, codes: Codes) -> LogPrior:
    def log_prior(z: Tensor, places: Integers) -> Tensor:
        u = None if codes.u is None else torch.from_numpy(codes.u[places])
        density: Tensor = vae.prior(u).log_prob(z)
        return density

    return log_prior
