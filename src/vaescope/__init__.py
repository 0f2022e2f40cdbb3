"""Trains, dissects and compares variational autoencoders.

Names resolve when they are first used: importing the package, or `vaescope.metrics`, leaves torch
out.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vaescope import (
        decomposition,
        distributions,
        geometry,
        information,
        known,
        latents,
        metrics,
        nets,
        objectives,
        priors,
    )
    from vaescope.codes import Codes
    from vaescope.comparing.compare import compare
    from vaescope.data import Dataset
    from vaescope.encoding import load_vae
    from vaescope.estimator import VAEEstimator
    from vaescope.exporting import export_onnx, load_pretrained, save_pretrained
    from vaescope.geometry.effective_beta import EffectiveBeta, effective_beta
    from vaescope.inspection.inspect import inspect
    from vaescope.latent_exchange import exchange, translate
    from vaescope.marginal_likelihood import LogLikelihood, log_likelihood
    from vaescope.models import OpenModel
    from vaescope.objectives import Objective, Terms
    from vaescope.opening import encode, open_model, open_run
    from vaescope.perturbing.perturb import perturb
    from vaescope.pruning.prune import prune
    from vaescope.rotation import rotate
    from vaescope.runs import Run
    from vaescope.training.api import train
    from vaescope.tuning import tune_beta
    from vaescope.tuning.latent_count import LatentCount, how_many_latents
    from vaescope.user_data import load_dataset
    from vaescope.vae import VAE, Batch
    from vaescope.watching import watch

__all__ = [
    "VAE",
    "Batch",
    "Codes",
    "Dataset",
    "EffectiveBeta",
    "LatentCount",
    "LogLikelihood",
    "Objective",
    "OpenModel",
    "Run",
    "Terms",
    "VAEEstimator",
    "compare",
    "decomposition",
    "distributions",
    "effective_beta",
    "encode",
    "exchange",
    "export_onnx",
    "geometry",
    "how_many_latents",
    "information",
    "inspect",
    "known",
    "latents",
    "load_dataset",
    "load_pretrained",
    "load_vae",
    "log_likelihood",
    "metrics",
    "nets",
    "objectives",
    "open_model",
    "open_run",
    "perturb",
    "priors",
    "prune",
    "rotate",
    "save_pretrained",
    "train",
    "translate",
    "tune_beta",
    "watch",
]

__version__ = "0.2.0"

_HOMES = {
    "Batch": "vaescope.vae",
    "Codes": "vaescope.codes",
    "Dataset": "vaescope.data",
    "EffectiveBeta": "vaescope.geometry.effective_beta",
    "effective_beta": "vaescope.geometry.effective_beta",
    "LatentCount": "vaescope.tuning.latent_count",
    "how_many_latents": "vaescope.tuning.latent_count",
    "LogLikelihood": "vaescope.marginal_likelihood",
    "log_likelihood": "vaescope.marginal_likelihood",
    "Objective": "vaescope.objectives",
    "OpenModel": "vaescope.models",
    "Run": "vaescope.runs",
    "Terms": "vaescope.objectives",
    "VAE": "vaescope.vae",
    "VAEEstimator": "vaescope.estimator",
    "compare": "vaescope.comparing",
    "encode": "vaescope.opening",
    "exchange": "vaescope.latent_exchange",
    "export_onnx": "vaescope.exporting",
    "inspect": "vaescope.inspection",
    "load_dataset": "vaescope.user_data",
    "load_pretrained": "vaescope.exporting",
    "load_vae": "vaescope.encoding",
    "open_model": "vaescope.opening",
    "open_run": "vaescope.opening",
    "perturb": "vaescope.perturbing",
    "prune": "vaescope.pruning",
    "rotate": "vaescope.rotation",
    "save_pretrained": "vaescope.exporting",
    "train": "vaescope.training.api",
    "translate": "vaescope.latent_exchange",
    "tune_beta": "vaescope.tuning",
    "watch": "vaescope.watching",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
        globals()[name] = found  # an objective of the user's asks for vs.Terms at each step
        return found
    if name in __all__:  # the others are modules
        return import_module(f"vaescope.{name}")
    raise AttributeError(f"module 'vaescope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
