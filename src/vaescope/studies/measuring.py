"""What most studies measure of a finished run, so that all of them measure it alike."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from vaescope.build import build_data, held_out_rows
from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.geometry.orthogonality import distance_to_orthogonality
from vaescope.geometry.space import Space
from vaescope.latents.kl import kl_of_rows
from vaescope.latents.types import Types, types
from vaescope.metrics.knn_score import knn_score
from vaescope.models import OpenModel
from vaescope.opening import open_model
from vaescope.prior_density import GaussianDensity
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.specs import Experiment
from vaescope.types import Integers

__all__ = [
    "counts",
    "distortion",
    "ds",
    "dto",
    "rate",
    "relabelled",
    "some",
    "subject",
    "typed",
    "used",
]

#: Points at which Jacobians are taken; rows that are encoded unless a study says otherwise.
POINTS, ROWS = 200, 5000


@lru_cache(maxsize=2)  # runs of a study come dataset by dataset
def _data(spec: str) -> Dataset:
    experiment = Experiment.model_validate_json(spec)
    return held_out_rows(experiment, build_data(experiment.data))


def subject(run: Run, *, rows: int = ROWS) -> OpenModel:
    """The model of a run and the codes of `rows` examples, the same for all runs on one dataset:
    of those that it never saw, where it has a split."""
    data = _data(run.open().model_copy(update={"seed": 0}).model_dump_json())
    return open_model(run, data, rows=rows)


def typed(codes: Codes) -> Types:
    """Types by the rule that the papers' claims are about: bonheme2023's where the prior is N(0, I)
    and the posterior diagonal, the KL to what an unused latent becomes elsewhere. By name, so that
    no study changes with the default."""
    standard = isinstance(codes.prior, GaussianDensity) and codes.prior.standard
    diagonal = codes.covariance is None
    return types(codes, criterion="bonheme2023" if standard and diagonal else "kl")


def used(of: OpenModel) -> Integers:
    """The latents that are not passive; all of a plain autoencoder, whose codes have no types, and
    of a network that was never trained, all of whose latents would be passive."""
    every = np.arange(of.codes.d)
    if not of.codes.stochastic or of.experiment.steps == 1:
        return every
    return every[[name != "passive" for name in typed(of.codes).names]]


def some(of: OpenModel, count: int) -> Integers:
    """Places of a few among the codes. Rows of a grid come in its order, so that the first ones
    show one corner of it: they are drawn. Rows without factors were drawn when they were made."""
    n = of.codes.n
    if of.data.factors is None or n <= count:
        return np.arange(min(n, count))
    return np.sort(rng(0, "study-points").choice(n, count, replace=False))


def dto(of: OpenModel, *, points: int = POINTS, space: Space = "output") -> float | None:
    """Distance to orthogonality (zietlow2022 section 3.2) over the latents that are not passive, by
    default in the space of the outputs' means; None where fewer than two are left."""
    columns = used(of)
    if len(columns) < 2:
        return None
    found = distance_to_orthogonality(
        of.decoder, of.codes.mean[some(of, points)], space=space, columns=columns
    )
    return found.value


def ds(of: OpenModel) -> float:
    """Disentanglement score of zietlow2022 section 3.3.1, eq. 3.32 to 3.37, corrected."""
    return knn_score(of.codes, resamples=0).value


def relabelled(codes: Codes) -> Codes:
    """The same codes with the factors of other images: a control for every score by labels."""
    order = rng(0, "relabelled").permutation(codes.n)
    return replace(
        codes,
        factors=None if codes.factors is None else codes.factors[order],
        factor_values=None if codes.factor_values is None else codes.factor_values[order],
    )


def distortion(of: OpenModel, *, rows: int = 1000) -> float:
    """Mean of -log p(x|z) over examples, z the sample of each posterior; nats."""
    places = some(of, rows)
    return float(of.distortion(places, of.noise(places)).mean())


def rate(of: OpenModel) -> float:
    """Mean over examples of the sum of each latent's KL to a Gaussian prior; nats. Of a full
    covariance it is the KL of the marginals, which leaves out their dependence."""
    return float(kl_of_rows(of.codes).sum(axis=1).mean())


def counts(of: OpenModel) -> Mapping[str, int]:
    """How many latents are of each type by the rule that suits the prior."""
    names = typed(of.codes).names
    return {kind: names.count(kind) for kind in ("active", "mixed", "passive")}
