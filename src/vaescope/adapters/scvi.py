"""Models of scvi-tools: counts of genes, their likelihood, batches and library sizes.

Such a model says everything itself, so that nothing is inferred: `inference` gives q(z|x), and
`generative` gives p(x|z, u) with u the batch, the other covariates and the observed library size.
Lopez et al. 2018, https://doi.org/10.1038/s41592-018-0229-2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.adapters.condition import ConditionInput
from vaescope.adapters.sources import is_of
from vaescope.distributions import DiagonalGaussian, Distribution, sum_event
from vaescope.errors import UsageError
from vaescope.models import Inference, OpenModel, device_of
from vaescope.priors import StandardNormal
from vaescope.user_data import as_dataset

__all__ = ["open_scvi"]

#: Models whose module is scvi-tools' VAE, with one latent of each cell.
READ = ("SCVI", "LinearSCVI")
_COUNTS = "X"  # as scvi-tools registers them
_LIKELIHOODS = {
    "zinb": "a zero-inflated negative binomial",
    "nb": "a negative binomial",
    "poisson": "a Poisson",
    "normal": "a Normal",
}


@dataclass(frozen=True, eq=False)
class Cells:
    """What a model is told of its cells."""

    table: Any  # an AnnData with the counts in X
    condition: ConditionInput  # the columns of `keys`, then the log library size
    keys: tuple[tuple[str, int, bool], ...]  # name, columns, whether these are classes

    def tensors(self, x: Tensor, u: Tensor) -> dict[str, Tensor]:
        """Cells as scvi-tools' loaders give them."""
        found, start = {_COUNTS: x}, 0
        for key, width, classes in self.keys:
            part = u[:, start : start + width]
            found[key] = part.long() if classes else part
            start += width
        return found

    @property
    def typical(self) -> Tensor:
        """u where nobody says it: that of the cell whose library has the median size."""
        library = self.condition.values[:, -1]
        middle = np.argsort(library, kind="stable")[len(library) // 2]
        return torch.from_numpy(self.condition.values[middle : middle + 1])


@dataclass(frozen=True, eq=False)
class Genes(Distribution):
    """A distribution of scvi-tools over the genes of each cell, independent of each other."""

    inner: Any

    @property
    def mean(self) -> Tensor:
        mean: Tensor = self.inner.mean
        return mean

    def log_prob(self, x: Tensor) -> Tensor:
        return sum_event(self.inner.log_prob(x))


def cells_of(model: Any, data: Any = None) -> Cells:
    """The cells of an AnnData, by default the model's own.

    Raises UsageError for models with other latents, and for data that are no AnnData.
    """
    _refuse_others(model)
    if data is not None and not is_of(data, "anndata"):
        raise UsageError(
            f"data= is {type(data).__name__}; {type(model).__name__} takes an AnnData.",
            "Leave it out to use the model's own, or pass an AnnData with the same genes.",
        )
    adata = model._validate_anndata(data)
    manager = model.get_anndata_manager(adata, required=True)
    counts = manager.get_from_registry(_COUNTS)
    keys, columns = [], []
    for key in manager.data_registry:
        if key == _COUNTS:
            continue
        values = np.asarray(manager.get_from_registry(key)).reshape(len(adata), -1)
        if values.size:
            keys.append((str(key), values.shape[1], values.dtype.kind in "biu"))
            columns.append(values.astype(np.float32))
    total = np.asarray(counts.sum(axis=1), dtype=np.float32).reshape(-1, 1)
    if not (total > 0).all():
        raise UsageError(
            f"{int((total <= 0).sum())} cells have no counts, so their library size has no "
            "logarithm.",
            "Leave them out, as scvi-tools recommends: sc.pp.filter_cells(adata, min_counts=1).",
        )
    condition = ConditionInput(np.concatenate([*columns, np.log(total)], axis=1))
    return Cells(type(adata)(X=counts, obs=adata.obs), condition, tuple(keys))


def _refuse_others(model: Any) -> None:
    name = type(model).__name__
    if isinstance(model, nn.Module):
        raise UsageError(
            f"{name} is the network inside a model of scvi-tools, without its data.",
            "Pass the model itself: vs.inspect(scvi_model).",
        )
    if name not in READ:
        raise UsageError(
            f"{name} of scvi-tools is not supported; {' and '.join(READ)} are.",
            "To dissect its codes, save mean and variance of get_latent_representation("
            "return_dist=True) with vs.Codes, and use vs.latents and vs.metrics.",
        )
    if model.module.minified_data_type is not None:
        raise UsageError(
            f"The AnnData of this {name} is minified: it has no counts.",
            f"Load the model with the whole one: {name}.load(folder, adata=adata).",
        )
    if not model.module.use_observed_lib_size:
        raise UsageError(
            f"This {name} has use_observed_lib_size=False: the library size is a second latent "
            "with its own posterior.",
            "Train it with use_observed_lib_size=True.",
        )


def open_scvi(
    model: Any, data: Any = None, factors: Any = None, *, name: str | None = None, rows: int
) -> OpenModel:
    """The model as scvi-tools defines it, on its own cells or on those of another AnnData."""
    cells = cells_of(model, data)
    module, typical = model.module, cells.typical

    def like(values: Tensor, u: Tensor | None) -> Tensor:
        return typical.to(values).expand(values.shape[0], -1) if u is None else u.to(values)

    def encode(x: Tensor, u: Tensor | None = None) -> DiagonalGaussian:
        given = module._get_inference_input(cells.tensors(x, like(x, u)))
        q = module.inference(**given)["qz"]
        return DiagonalGaussian(q.loc, 2.0 * q.scale.log())

    def density(z: Tensor, u: Tensor | None = None) -> Genes:
        given = like(z, u)
        latents = {"z": module.z_encoder.z_transformation(z), "library": given[:, -1:]}
        inputs = module._get_generative_input(cells.tensors(z, given), latents)
        return Genes(module.generative(**inputs)["px"])

    known = as_dataset(cells.table, factors)
    name = name or type(model).__name__
    return OpenModel(
        name, f"{name} of scvi-tools with {module.n_latent} latents, your model.", known,
        known.sample(rows, seed=0), encode, lambda z: density(z).mean,
        StandardNormal(module.n_latent).to(device_of(module)), likelihood=_squared_error,
        density=density, module=module, auxiliary=cells.condition,
        encoder_sees_u=bool(module.encode_covariates), inferred=_stated(model, cells),
    )  # fmt: skip


def _squared_error(mean: Tensor) -> Distribution:
    """For Jacobians only: distances between mean counts. p(x|z) itself is in `density`."""
    return DiagonalGaussian(mean, torch.tensor(0.5, dtype=mean.dtype, device=mean.device).log())


def _stated(model: Any, cells: Cells) -> tuple[Inference, ...]:
    module = model.module
    kind = module.gene_likelihood
    given = ", ".join(key for key, _, _ in cells.keys)
    found = [
        Inference("posterior", "named,std", "scvi-tools' own inference gives it", told=True),
        Inference("likelihood", kind, f"{_LIKELIHOODS.get(kind, kind)} of the counts, as the model "
                  "says; Jacobians are those of mean counts", told=True),
        Inference("condition", f"{given}, library size",
        "as the AnnData was set up; unless stated otherwise, those of the cell with the "
        "median library", told=True),
        Inference("prior", "N(0, I)", "scvi-tools' own", told=True),
    ]  # fmt: skip
    if not model.is_trained:
        found.append(
            Inference("training", "none", "scvi-tools says that this model is not trained",
                      told=True)
        )  # fmt: skip
    return tuple(found)
