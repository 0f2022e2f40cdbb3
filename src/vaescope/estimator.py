"""A VAE as a scikit-learn transformer. Kingma and Welling 2014, https://arxiv.org/abs/1312.6114."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from numbers import Integral
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from vaescope.allocator import keep_freed_memory
from vaescope.build import data_settings, start_from_data
from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.data.in_memory import CHANNELS, dataset_of
from vaescope.data.stores import Numbers
from vaescope.distributions import rate
from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.opening import encode
from vaescope.seeds import rng
from vaescope.settings import experiment, preset, start
from vaescope.specs import ConditionalPriorSpec, Experiment, resolve
from vaescope.training.loop import Record, new_state, steps
from vaescope.training.precision import choose, threads_for
from vaescope.training.run import check_range
from vaescope.types import Double, Floats
from vaescope.vae import VAE, as_input

__all__ = ["VAEEstimator"]

#: Rows through the networks at once.
BATCH = 256
#: Samples of each posterior that a score is the mean over: folds are small and one sample is noisy.
DRAWS = 8


class VAEEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A VAE with scikit-learn's interface: `fit`, `transform` and `score`.

    `X` contains vectors, shape (n, features), which are modelled by an MLP with squared error, or
    images, shape (n, channels, height, width) in [0, 1], which are modelled by the convolutional
    pair of that size with a Bernoulli likelihood. Vectors should be scaled, e.g. by a
    StandardScaler: squared error is a Gaussian of variance 1/2 in the units of X.

    `transform` returns posterior means. `score` is the mean ELBO per example in nats, with the rate
    at weight 1 whatever `beta` is, so larger is better and models with different strengths can be
    compared.

    Fitted: `vae_` (goes into `vs.encode`), `history_` (records of the training), `experiment_` (all
    settings), `shape_in_`, `n_features_in_` (of images: their channels). `vs.inspect(estimator, X)`
    dissects it.

    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> VAEEstimator(latent=2, steps=3, random_state=0).fit_transform(X).shape
    (50, 2)

    Args:
        preset: name of a preset of `vaescope train`.
        objective: name of an objective that replaces the preset's.
        beta: weight of the rate; with the plain VAE it gives a beta-VAE.
        latent: number of latents.
        steps: number of training steps.
        batch: rows per step.
        lr: learning rate.
        random_state: seed, as everywhere in scikit-learn; a whole number gives the model of
            `vs.train(..., seed=number)`.
    """

    def __init__(
        self,
        *,
        preset: str = "vae",
        objective: str | None = None,
        beta: float | None = None,
        latent: int = 10,
        steps: int = 2000,
        batch: int = 64,
        lr: float = 1e-3,
        random_state: Any = None,
    ) -> None:
        self.preset = preset
        self.objective = objective
        self.beta = beta
        self.latent = latent
        self.steps = steps
        self.batch = batch
        self.lr = lr
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 - scikit-learn's name
        """Trains on the rows of X; y is ignored. Nothing is written to disk."""
        del y
        rows = _checked(self, X, reset=True)
        data = _dataset(rows)
        self.experiment_ = _experiment(self, data)
        self.vae_, self.history_ = _trained(self.experiment_, data)
        self.shape_in_ = data.shape
        return self

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """Posterior means, shape (n, latent), in the precision of X."""
        rows = self._rows(X)
        with _in_precision(self.vae_, rows) as vae:
            return _batched(rows, lambda x: vae.encoder(x).mean)

    def inverse_transform(self, X: Any) -> Floats:  # noqa: N803
        """Means of p(x|z) of codes of shape (n, latent), in the shape that X had in `fit`."""
        check_is_fitted(self)
        z = check_array(X, dtype=[np.float64, np.float32])
        if z.shape[1] != self._n_features_out:
            raise ShapeError(
                f"These codes have {z.shape[1]} columns; there are {self._n_features_out} latents.",
                "Pass codes as `transform` returns them.",
            )
        with _in_precision(self.vae_, z) as vae:
            # Not `vae.decoder(z)`: that rounds to float32.
            return _batched(z, lambda some: vae.decoder.likelihood(vae.decoder.body(some)).mean)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """Mean ELBO per example in nats: E log p(x|z) - KL(q(z|x) || p(z)); y is ignored.

        The expectation is over eight samples of each posterior, the same at each call. Of images
        the Bernoulli likelihood of grey pixels is a cross-entropy.
        """
        del y
        rows = self._rows(X)
        with _in_precision(self.vae_, rows) as vae:
            return _elbo(vae, rows, self.experiment_.seed)

    def trained_vae(self) -> tuple[VAE, Experiment, list[dict[str, Any]]]:
        """The model, its settings and the records of its training: what `vs.open_model` takes."""
        check_is_fitted(self)
        return self.vae_, self.experiment_, [record.to_dict() for record in self.history_]

    def codes(self, X: Any) -> Codes:  # noqa: N803
        """Means, variances and samples as `Codes`: what vs.latents and vs.metrics take."""
        return encode(self.vae_, _dataset(self._rows(X)))

    @property
    def _n_features_out(self) -> int:
        latent: int = self.experiment_.latent
        return latent

    def _rows(self, X: Any) -> Floats:  # noqa: N803
        check_is_fitted(self)
        rows = _checked(self, X, reset=False)
        if rows.shape[1:] != self.shape_in_:
            raise ShapeError(
                f"X has rows of shape {rows.shape[1:]}; it was fitted on {self.shape_in_}.",
                "Pass rows of the shape that `fit` saw.",
            )
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _checked(estimator: VAEEstimator, X: Any, *, reset: bool) -> Floats:  # noqa: N803
    """Finite floats as scikit-learn checks them; images in [0, 1]."""
    rows: Floats = validate_data(
        estimator, X, reset=reset, dtype=[np.float64, np.float32], allow_nd=True
    )
    if rows.ndim not in (2, 4):
        raise ShapeError(
            f"X has shape {rows.shape}; wanted (n, features), or (n, channels, height, width).",
            "Give grey images a channel: X[:, None].",
        )
    if rows.ndim == 4 and rows.shape[1] not in CHANNELS:
        raise ShapeError(
            f"X has shape {rows.shape}, so {rows.shape[1]} channels; wanted 1 to 4 of them, first.",
            "Move them, np.moveaxis(X, -1, 1), or give vectors: X.reshape(len(X), -1).",
        )
    if rows.ndim == 4 and not 0.0 <= rows.min() <= rows.max() <= 1.0:
        raise RangeError(
            f"Images have values from {rows.min():g} to {rows.max():g}; wanted 0 to 1.",
            "Scale them, e.g. X / 255, or give vectors: X.reshape(len(X), -1).",
        )
    return rows


def _dataset(rows: Floats) -> Dataset:
    return dataset_of("array", Numbers(rows), None)


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _experiment(own: VAEEstimator, data: Dataset) -> Experiment:
    base = preset(own.preset)
    base["data"] = data_settings(data)
    settings: list[tuple[list[str], Any]] = [
        (["latent"], own.latent), (["steps"], own.steps), (["batch"], own.batch),
        (["optimiser", "lr"], own.lr), (["seed"], _seed(own.random_state)),
    ]  # fmt: skip
    objective = own.objective
    if own.beta is not None:
        settings.append((["objective", "beta"], own.beta))
        if (objective or base["objective"]["name"]) == "vae":
            objective = "beta-vae"
    if objective is not None:
        settings.append((["objective", "name"], objective))
    spec = resolve(experiment(start(base, settings)))
    if isinstance(spec.prior, ConditionalPriorSpec):
        raise UsageError(
            f"The preset {own.preset} needs an auxiliary variable u, which X does not have.",
            "Train it with vs.train on a dataset that has factors.",
        )
    return spec


def _trained(spec: Experiment, data: Dataset) -> tuple[VAE, tuple[Record, ...]]:
    """What `training.run.train_run` does, without a folder: nothing can be resumed."""
    keep_freed_memory()
    device = torch.device("cpu")
    state = new_state(spec, device)
    check_range(data, spec)
    start_from_data(spec, data, [state.vae])
    precision = choose(spec.precision, device, state.vae)
    threads = torch.get_num_threads()
    torch.set_num_threads(threads_for(state.vae))
    try:
        records = tuple(
            record for record in steps(state, spec, data, precision) if record is not None
        )
    finally:
        torch.set_num_threads(threads)
    return state.vae.eval(), records


@contextmanager
def _in_precision(vae: VAE, rows: Floats) -> Iterator[VAE]:
    """The model in the precision of the rows: in float64 a row's code does not depend on which
    other rows it comes with, which scikit-learn's checks hold to 1e-7."""
    with torch.inference_mode():
        yield deepcopy(vae).double() if rows.dtype == np.float64 else vae


def _tensor(rows: Floats) -> torch.Tensor:
    rows = np.require(rows, requirements=["C", "W"])  # torch warns of memory it must not write to
    if rows.dtype == np.float64:
        return torch.from_numpy(rows)
    return as_input(rows, torch.device("cpu"))


def _batched(rows: Floats, function: Any) -> Floats:
    parts = [
        function(_tensor(rows[first : first + BATCH])).numpy()
        for first in range(0, len(rows), BATCH)
    ]
    return np.concatenate(parts).astype(rows.dtype, copy=False)


def _elbo(vae: VAE, rows: Floats, seed: int) -> float:
    generator = rng(seed, "score")
    total = 0.0
    for first in range(0, len(rows), BATCH):
        x = _tensor(rows[first : first + BATCH])
        q, p = vae.encoder(x), vae.prior()
        for _ in range(DRAWS):
            noise: Double = generator.standard_normal(q.mean.shape)
            z = q.at(torch.from_numpy(noise).to(x.dtype))
            likely = vae.decoder.likelihood(vae.decoder.body(z)).log_prob(x)
            total += float((likely - rate(q, p, z)).double().sum()) / DRAWS
    return total / len(rows)
