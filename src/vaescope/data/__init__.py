"""Datasets by name."""

from collections.abc import Callable, Mapping

from vaescope.data.card import Card
from vaescope.data.dataset import Dataset
from vaescope.data.dsprites import dsprites
from vaescope.data.synthetic import linear_gaussian, synth_linear, synth_nonlinear

__all__ = [
    "DATASETS",
    "Card",
    "Dataset",
    "dsprites",
    "linear_gaussian",
    "synth_linear",
    "synth_nonlinear",
]

#: Name -> function. Names never change what they mean with what is on disk.
DATASETS: Mapping[str, Callable[..., Dataset]] = {
    "dsprites": dsprites,
    "linear-gaussian": linear_gaussian,
    "synth-linear": synth_linear,
    "synth-nonlinear": synth_nonlinear,
}
