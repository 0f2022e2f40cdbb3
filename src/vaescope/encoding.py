"""Any dataset through an encoder, once: codes in float32, whatever the training's precision."""

from typing import Any

import numpy as np
import torch

from vaescope.build import build_auxiliary, build_vae, data_of
from vaescope.codes import Codes, draw
from vaescope.data import Dataset
from vaescope.data.auxiliary import Auxiliary
from vaescope.distributions import FullGaussian
from vaescope.errors import RunError, UsageError
from vaescope.runs import Run
from vaescope.training.api import as_dataset
from vaescope.training.checkpoint import load_weights
from vaescope.types import Floats, Integers
from vaescope.vae import VAE, as_input

__all__ = ["assemble", "encode", "load_vae"]


def load_vae(run: Run) -> VAE:
    """The trained model of a finished run, on the CPU."""
    if not run.is_done:
        raise RunError(
            f"{run.path} is not finished, so it has no final weights.",
            "Give its `vaescope train` command again.",
        )
    vae = build_vae(run.open())
    load_weights(run.weights, vae, sha256=run.weights_sha256)
    return vae.eval()


@torch.inference_mode()
def encode(
    model: VAE | Run,
    data: Any = None,
    *,
    index: Integers | None = None,
    seed: int = 0,
    batch: int = 256,
    auxiliary: Auxiliary | None = None,
) -> Codes:
    """Codes of the rows `index`, or of all; the sample of each row is drawn with `seed`.

    A run knows its own data, so `encode(run)` is enough where they have a name. It knows its u
    too; a bare identifiable VAE needs `auxiliary`. Encoders that see u see factors, so that their
    codes are marked as supervised.
    """
    if isinstance(model, Run):
        spec = model.open()
        data = data_of(spec, None if data is None else as_dataset(data))
        auxiliary = build_auxiliary(spec, data) if auxiliary is None else auxiliary
        vae = load_vae(model)
    else:
        vae = model
    if data is None:
        raise UsageError("A bare model does not know its data.", "Pass the dataset to encode.")
    data = as_dataset(data)
    rows = np.arange(len(data)) if index is None else np.asarray(index)
    device = next(vae.parameters()).device
    was_training = vae.training
    vae.eval()
    means, variances, covariances = [], [], []
    us = []
    for start in range(0, len(rows), batch):
        some = rows[start : start + batch]
        u = None
        if auxiliary is not None:
            us.append(auxiliary(some))
            u = torch.from_numpy(us[-1]).to(device)
        posterior = vae.encoder(as_input(data.rows(some), device), u)
        means.append(posterior.mean.float().cpu().numpy())
        variances.append(posterior.variance.float().cpu().numpy())
        if isinstance(posterior, FullGaussian):
            # In float32 the product of narrow factors is no longer positive definite.
            factor = posterior.scale_tril.double()
            covariances.append((factor @ factor.mT).cpu().numpy())
    seen = np.concatenate(us) if us else None
    prior = vae.prior.density(None if seen is None else torch.from_numpy(seen).to(device))
    vae.train(was_training)
    return assemble(
        data,
        rows,
        np.concatenate(means),
        np.concatenate(variances),
        covariance=np.concatenate(covariances) if covariances else None,
        seed=seed,
        prior=prior,
        u=seen,
        supervised=auxiliary is not None,
    )


def assemble(
    data: Dataset,
    rows: Integers,
    mean: Floats,
    variance: Floats,
    *,
    covariance: Floats | None = None,
    seed: int = 0,
    **others: Any,
) -> Codes:
    """Posteriors of some rows of the data as codes: a sample of each, and what is known of it."""
    factors = data.factors
    return Codes(
        mean,
        variance,
        draw(mean, variance, covariance, seed=seed),
        factors=None if factors is None else factors.classes(rows),
        factor_names=() if factors is None else factors.names,
        factor_sizes=() if factors is None else factors.sizes,
        factor_values=None if data.sources is None else data.sources[rows],
        covariance=covariance,
        index=rows if factors is not None and factors.complete else None,
        **others,
    )
