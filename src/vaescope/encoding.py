"""Any dataset through an encoder, once: codes in float32, whatever the training's precision."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from vaescope.build import build_vae
from vaescope.codes import Codes, draw
from vaescope.data import Dataset
from vaescope.distributions import DiagonalGaussian, FullGaussian, Reparameterised, kl_per_latent
from vaescope.errors import NonFiniteError, RunError, UsageError, VaescopeError
from vaescope.prior_density import PriorDensity
from vaescope.runs import Run
from vaescope.training.checkpoint import load_weights
from vaescope.types import Floats, Integers
from vaescope.vae import VAE

if TYPE_CHECKING:
    from vaescope.models import OpenModel

__all__ = ["Maps", "assemble", "encode_rows", "load_vae"]


def load_vae(run: Run | str | Path) -> VAE:
    """The trained model of a finished run or its folder, on the CPU."""
    run = run if isinstance(run, Run) else Run(Path(run))
    if not run.is_done:
        raise RunError(
            f"{run.path} is not finished, so it has no final weights.",
            "Give its `vaescope train` command again.",
        )
    vae = build_vae(run.open())
    load_weights(run.weights, vae, sha256=run.weights_sha256)
    return vae.eval()


@dataclass(frozen=True, eq=False)
class Maps:
    """Latents that are maps: by channel, over all images and places, and by place, over all
    images and channels. KL is null of codes without noise."""

    shape: tuple[int, ...]  # (height, width)
    shift: Floats  # (channel,) mean of the latents
    scale: Floats  # (channel,) standard deviation of samples of them
    kl_nats: Floats | None  # (channel,) mean KL to N(0, 1) of one place
    place_scale: Floats  # (height, width) standard deviation of samples
    place_kl_nats: Floats | None  # (height, width) mean KL of one channel
    scaling: float  # 1 / standard deviation over all channels: what brings latents to variance 1
    configured: float | None  # the factor that was published in the model's configuration
    configured_shift: float | None = None  # what its pipelines take from latents before

    def to_dict(self) -> dict[str, object]:
        return {
            "shape": list(self.shape),
            "shift": self.shift.tolist(),
            "scale": self.scale.tolist(),
            "kl": None if self.kl_nats is None else self.kl_nats.tolist(),
            "place_scale": self.place_scale.tolist(),
            "place_kl": None if self.place_kl_nats is None else self.place_kl_nats.tolist(),
            "scaling": self.scaling,
            "configured": self.configured,
            "configured_shift": self.configured_shift,
        }


def encode_rows(
    model: "OpenModel", rows: Integers, *, seed: int = 0, batch: int = 256
) -> tuple[Codes, Maps | None]:
    """Codes of these rows of the model's data. Of maps, codes have the spatial mean of each
    channel, and their statistics are beside."""
    means, variances, covariances, us, sums = [], [], [], [], []
    shape: tuple[int, ...] = ()
    with model.evaluating():
        for start in range(0, len(rows), batch):
            some = rows[start : start + batch]
            u = None
            if model.auxiliary is not None:
                us.append(model.auxiliary(some))
                u = torch.from_numpy(us[-1]).to(model.device)
            q = _posterior(model, model.x(some), u, start)
            mean, variance = q.mean, q.variance
            if mean.ndim > 2:
                shape = tuple(int(size) for size in mean.shape[2:])
                sums.append(_sums(q))
                places = tuple(range(2, mean.ndim))
                mean, variance = mean.mean(places), variance.mean(places)
            means.append(mean.float().cpu().numpy())
            variances.append(variance.float().cpu().numpy())
            if isinstance(q, FullGaussian):
                # In float32 the product of narrow factors is no longer positive definite.
                factor = q.scale_tril.double()
                covariances.append((factor @ factor.mT).cpu().numpy())
        seen = np.concatenate(us) if us else None
        prior = model.prior.density(
            None if seen is None else torch.from_numpy(seen).to(model.device)
        )
    joined = {"mean": np.concatenate(means), "variance": np.concatenate(variances)}
    if not all(np.isfinite(values).all() for values in joined.values()):
        raise NonFiniteError(
            f"{model.name} gives means or variances that are NaN or infinite.",
            "If its spread is a standard deviation, pass posterior=std; else look for the cause "
            "in the encoder.",
        )
    codes = assemble(
        model.data, rows, joined["mean"], joined["variance"],
        covariance=np.concatenate(covariances) if covariances else None, seed=seed,
        prior=prior, prior_assumed=model.prior_assumed, u=seen,
        supervised=bool(us) and model.encoder_sees_u,
        spatial=shape, **_unused(model, prior),
    )  # fmt: skip
    return codes, _maps(sums, model.scaling, model.shift) if sums else None


def _unused(model: "OpenModel", prior: PriorDensity) -> dict[str, Any]:
    """Variance of the posterior of a latent that ignores x, as the objective has it."""
    unused = model.unused
    if unused is None:
        return {}
    if not unused.minima:
        return {"unused": np.full(prior.d, np.nan), "unused_why": unused.why}
    if unused.variance is None:  # that of p(z|u), row by row
        return {"unused": unused.factor * prior.variance}
    return {"unused": unused.variance}


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


def _posterior(model: "OpenModel", x: Tensor, u: Tensor | None, start: int) -> Reparameterised:
    """The posterior of a batch. Batches that come later may be smaller, and hold other data, than
    those on which somebody else's model was read."""
    says = f"{model.name} fails on a batch of {len(x)} after {start} rows"
    remedy = "Make its encoder take batches of any size, and look for what is odd in these rows."
    try:
        q = model.encode(x, u)
    except VaescopeError:
        raise
    except Exception as error:  # anybody's code
        lines = str(error).splitlines()
        raise UsageError(
            f"{says}: {type(error).__name__}: {lines[0][:160] if lines else ''}.", remedy
        ) from error
    if q.mean.ndim < 2 or len(q.mean) != len(x):
        raise UsageError(f"{says}: means have shape {tuple(q.mean.shape)}.", remedy)
    return q


def _sums(q: Reparameterised) -> Tensor:
    """Sums over images, for each channel and place: 1, mean, mean^2, variance, KL to N(0, 1)."""
    mean, variance = q.mean.double(), q.variance.double()
    zero = torch.zeros_like(mean)
    # Of points the KL is infinite; log 0 is what makes it so.
    kl = kl_per_latent(DiagonalGaussian(mean, variance.log()), DiagonalGaussian(zero, zero))
    one = torch.ones_like(mean)
    return torch.stack([part.sum(0) for part in (one, mean, mean**2, variance, kl)])


def _maps(sums: list[Tensor], configured: float | None, shift: float | None) -> Maps:
    total = np.sum([part.cpu().numpy() for part in sums], axis=0)  # (5, channel, *places)
    places = tuple(range(2, total.ndim))
    by_channel, by_place = total.sum(places), total.sum(1)
    _, everything = _moments(total.sum((1, *places)))
    centre, scale = _moments(by_channel)
    finite = bool(np.isfinite(total[4]).all())
    return Maps(
        tuple(total.shape[2:]), centre, np.sqrt(scale),
        by_channel[4] / by_channel[0] if finite else None,
        np.sqrt(_moments(by_place)[1]), by_place[4] / by_place[0] if finite else None,
        float(1.0 / np.sqrt(everything)), configured, shift,
    )  # fmt: skip


def _moments(sums: Floats) -> tuple[Floats, Floats]:
    """Mean, and total variance: that of the means, and that of the samples around them."""
    n, mean, square, variance, _ = sums
    return mean / n, square / n - (mean / n) ** 2 + variance / n
