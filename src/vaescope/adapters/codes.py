"""A dataset through anybody's encoder, once."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vaescope.adapters.model import Model, Posterior
from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.encoding import assemble
from vaescope.errors import NonFiniteError, UsageError, VaescopeError
from vaescope.types import Floats, Integers
from vaescope.vae import as_input

__all__ = ["Maps", "encode_model"]


@dataclass(frozen=True, eq=False)
class Maps:
    """Latents that are maps, by channel, over all images and places."""

    shape: tuple[int, ...]  # (height, width)
    shift: Floats  # (channel,) mean of the latents
    scale: Floats  # (channel,) standard deviation of samples of them
    kl_nats: Floats  # (channel,) mean KL to N(0, 1) of one place
    scaling: float  # 1 / standard deviation over all channels: what brings latents to variance 1
    configured: float | None  # what the model's own configuration has

    def to_dict(self) -> dict[str, object]:
        return {
            "shape": list(self.shape),
            "shift": self.shift.tolist(),
            "scale": self.scale.tolist(),
            "kl": self.kl_nats.tolist(),
            "scaling": self.scaling,
            "configured": self.configured,
        }


def encode_model(
    model: Model, data: Dataset, *, index: Integers, seed: int = 0, batch: int = 256
) -> tuple[Codes, Maps | None]:
    """Codes of the rows `index`. Of maps, codes have the spatial mean of each channel."""
    parts: list[Posterior] = []
    sums: list[Tensor] = []
    with model.evaluating():
        for start in range(0, len(index), batch):
            x = as_input(data.rows(index[start : start + batch]), model.device)
            posterior = _encoded(model, x, start)
            if posterior.mean.ndim > 2:
                sums.append(_sums(posterior))
                posterior = _spatial_mean(posterior)
            parts.append(posterior)
    mean, variance = (
        np.concatenate([getattr(part, name).float().cpu().numpy() for part in parts])
        for name in ("mean", "variance")
    )
    if not (np.isfinite(mean).all() and np.isfinite(variance).all()):
        raise NonFiniteError(
            f"{model.name} gives means or variances that are NaN or infinite.",
            "If its spread is a standard deviation, pass posterior=std; else look for the cause "
            "in the encoder.",
        )
    full = [part.covariance for part in parts if part.covariance is not None]
    covariance = np.concatenate([part.double().cpu().numpy() for part in full]) if full else None
    if not sums:
        return assemble(data, index, mean, variance, covariance=covariance, seed=seed), None
    shape = tuple(int(size) for size in shape_of(model, data, index))
    codes = assemble(data, index, mean, variance, seed=seed, spatial=shape)
    return codes, _maps(sums, shape, model.scaling)


def _encoded(model: Model, x: Tensor, start: int) -> Posterior:
    """The posterior of a batch. Batches that come later may be smaller, and hold other data, than
    those on which the model was read."""
    says = f"{model.name} fails on a batch of {len(x)} after {start} rows"
    remedy = "Make its encoder take batches of any size, and look for what is odd in these rows."
    try:
        posterior = model.encode(x)
    except VaescopeError:
        raise
    except Exception as error:  # anybody's code
        lines = str(error).splitlines()
        raise UsageError(
            f"{says}: {type(error).__name__}: {lines[0][:160] if lines else ''}.", remedy
        ) from error
    if posterior.mean.ndim < 2 or len(posterior.mean) != len(x):
        raise UsageError(f"{says}: means have shape {tuple(posterior.mean.shape)}.", remedy)
    return posterior


def shape_of(model: Model, data: Dataset, index: Integers) -> tuple[int, ...]:
    """Height and width of latents that are maps."""
    with model.evaluating():
        return tuple(model.encode(as_input(data.rows(index[:1]), model.device)).mean.shape[2:])


def _spatial_mean(posterior: Posterior) -> Posterior:
    places = tuple(range(2, posterior.mean.ndim))
    return Posterior(posterior.mean.mean(places), posterior.variance.mean(places))


def _sums(posterior: Posterior) -> Tensor:
    """Sums by channel over images and places: 1, mean, mean^2, variance, KL."""
    mean, variance = posterior.mean.double(), posterior.variance.double()
    kl = 0.5 * (mean**2 + variance - 1.0 - variance.clamp_min(1e-30).log())
    axes = (0, *range(2, mean.ndim))
    one = torch.ones_like(mean)
    return torch.stack([part.sum(axes) for part in (one, mean, mean**2, variance, kl)])


def _maps(sums: list[Tensor], shape: tuple[int, ...], configured: float | None) -> Maps:
    total = sum(part.cpu().numpy() for part in sums)
    n, mean, square, variance, kl = np.asarray(total)
    shift = mean / n
    spread = square / n - shift**2 + variance / n  # total variance: of means, and of samples
    everything = (square.sum() + variance.sum()) / n.sum() - (mean.sum() / n.sum()) ** 2
    return Maps(shape, shift, np.sqrt(spread), kl / n, float(1.0 / np.sqrt(everything)), configured)
