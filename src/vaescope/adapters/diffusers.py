"""diffusers' autoencoders: images in [-1, 1], and what their pipelines do to the latents."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

__all__ = ["decoder_of", "published"]


def published(model: Any) -> tuple[float | None, float | None]:
    """The factor that pipelines multiply latents by, and what they take from them before."""
    scaling = getattr(model.config, "scaling_factor", None)
    shift = getattr(model.config, "shift_factor", None)
    return (
        float(scaling) if isinstance(scaling, int | float) else None,
        float(shift) if isinstance(shift, int | float) else None,
    )


def decoder_of(model: Any) -> Callable[[Tensor], Any]:
    """`decode`; of a decoder of videos, with each image as a video of one frame."""
    decode: Callable[..., Any] = model.decode
    if "num_frames" in inspect.signature(decode).parameters:
        return partial(decode, num_frames=1)
    return decode
