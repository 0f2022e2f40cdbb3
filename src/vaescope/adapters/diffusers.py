"""diffusers' autoencoders: images in [-1, 1], and what their pipelines do to the latents."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from vaescope.types import Floats

__all__ = ["decoder_of", "published", "published_channels"]


def published(model: Any) -> tuple[float | None, float | None]:
    """The factor that pipelines multiply latents by, and what they take from them before."""
    scaling = getattr(model.config, "scaling_factor", None)
    shift = getattr(model.config, "shift_factor", None)
    return (
        float(scaling) if isinstance(scaling, int | float) else None,
        float(shift) if isinstance(shift, int | float) else None,
    )


def published_channels(model: Any) -> tuple[Floats, Floats] | None:
    """`latents_mean` and `latents_std` of its configuration, as models of videos have them:
    pipelines take the one from latents and divide by the other, channel by channel."""
    mean = getattr(model.config, "latents_mean", None)
    std = getattr(model.config, "latents_std", None)
    if not (isinstance(mean, list | tuple) and isinstance(std, list | tuple)):
        return None
    found = np.asarray(mean, np.float64), np.asarray(std, np.float64)
    return found if found[0].shape == found[1].shape and found[0].ndim == 1 else None


def decoder_of(model: Any) -> Callable[[Tensor], Any]:
    """`decode`; of a decoder of videos, with each image as a video of one frame."""
    decode: Callable[..., Any] = model.decode
    if "num_frames" in inspect.signature(decode).parameters:
        return partial(decode, num_frames=1)
    return decode
