"""What most studies measure of a finished run, so that all of them measure it alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
import torch

from vaescope.build import build_auxiliary, build_data, held_out_rows
from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.encoding import encode, load_vae
from vaescope.geometry.orthogonality import distance_to_orthogonality
from vaescope.geometry.space import Space
from vaescope.latents.kl import kl_of_rows
from vaescope.latents.types import types
from vaescope.metrics.knn_score import knn_score
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.specs import Experiment
from vaescope.types import Integers
from vaescope.vae import VAE, as_input

__all__ = ["Subject", "counts", "distortion", "ds", "dto", "rate", "some", "subject", "used"]

#: Points at which Jacobians are taken; rows that are encoded unless a study says otherwise.
POINTS, ROWS = 200, 5000


@final
@dataclass(frozen=True)
class Subject:
    """A trained model, its data, and the codes of some rows."""

    spec: Experiment
    vae: VAE
    data: Dataset
    rows: Integers
    codes: Codes


@lru_cache(maxsize=2)  # runs of a study come dataset by dataset
def _data(spec: str) -> Dataset:
    experiment = Experiment.model_validate_json(spec)
    return held_out_rows(experiment, build_data(experiment.data))


def subject(run: Run, *, rows: int = ROWS) -> Subject:
    """The model of a run and the codes of `rows` examples, the same for all runs on one dataset:
    of those that it never saw, where it has a split."""
    spec = run.open()
    data = _data(spec.model_copy(update={"seed": 0}).model_dump_json())
    vae = load_vae(run)
    chosen = data.sample(rows, seed=0)
    codes = encode(vae, data, index=chosen, auxiliary=build_auxiliary(spec, data))
    return Subject(spec, vae, data, chosen, codes)


def used(of: Subject) -> Integers:
    """The latents that are not passive; all of a plain autoencoder, whose codes have no types."""
    every = np.arange(of.codes.d)
    if not of.codes.stochastic:
        return every
    return every[[name != "passive" for name in types(of.codes).names]]


def some(of: Subject, count: int) -> Integers:
    """Places of a few among the codes. Rows of a grid come in its order, so that the first ones
    show one corner of it: they are drawn. Rows without factors were drawn when they were made."""
    n = of.codes.n
    if of.data.factors is None or n <= count:
        return np.arange(min(n, count))
    return np.sort(rng(0, "study-points").choice(n, count, replace=False))


def dto(of: Subject, *, points: int = POINTS, space: Space = "output") -> float | None:
    """Distance to orthogonality (002 section 3.2) over the latents that are not passive, by default
    in the space of the outputs' means; None where fewer than two are left."""
    columns = used(of)
    if len(columns) < 2:
        return None
    found = distance_to_orthogonality(
        of.vae.decoder, of.codes.mean[some(of, points)], space=space, columns=columns
    )
    return found.value


def ds(of: Subject) -> float:
    """Disentanglement score of zietlow2022 section 3.3.1, eq. 3.32 to 3.37, corrected."""
    return knn_score(of.codes, resamples=0).value


@torch.inference_mode()
def distortion(of: Subject, *, rows: int = 1000) -> float:
    """Mean of -log p(x|z) over examples, z the sample of each posterior; nats."""
    places = some(of, rows)
    z = torch.from_numpy(np.asarray(of.codes.sample[places], dtype=np.float32))
    x = as_input(of.data.rows(of.rows[places]), torch.device("cpu"))
    return float(-of.vae.decoder(z).log_prob(x).double().mean())


def rate(of: Subject) -> float:
    """Mean over examples of the sum of each latent's KL to a Gaussian prior; nats. Of a full
    covariance it is the KL of the marginals, which leaves out their dependence."""
    return float(kl_of_rows(of.codes).sum(axis=1).mean())


def counts(of: Subject) -> Mapping[str, int]:
    """How many latents are of each type by the rule that suits the prior."""
    names = types(of.codes).names
    return {kind: names.count(kind) for kind in ("active", "mixed", "passive")}
