"""A run without its passive latents: a smaller run folder, with the constants in its weights.

The heads lose their rows of these latents, the decoder's first layer its columns; what the columns
made of the constants goes into that layer's bias.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from vaescope.build import build_vae
from vaescope.errors import RunError
from vaescope.model_specs import (
    AnisotropicPriorSpec,
    MixturePriorSpec,
    PrunedSpec,
    SubspacesPriorSpec,
)
from vaescope.models import OpenModel
from vaescope.opening import open_vae
from vaescope.own_parts.specs import is_own
from vaescope.paths import replace_file
from vaescope.priors import ConditionalPrior
from vaescope.pruning.result import Change, Pruning, PruningPlan, change_of, plan_of, pruning_of
from vaescope.runs import Run
from vaescope.specs import FORMAT, Experiment, digest, resolve
from vaescope.training.checkpoint import weights_bytes
from vaescope.vae import VAE

__all__ = ["prune_run", "pruned_vae"]

#: Posterior -> rows of its head that stay: (kept latents, latents) -> rows.
HEADS: Mapping[str, Callable[[list[int], int], list[int]]] = {
    "diagonal": lambda kept, latent: [*kept, *(latent + row for row in kept)],
    "isotropic": lambda kept, latent: [*kept, latent],
}


def prune_run(run: Run, opened: OpenModel, out: Run) -> Pruning:
    """Writes the pruned run to the folder `out`; writes nothing where nothing is dropped."""
    plan = plan_of(opened.codes)
    if not plan.dropped:
        return pruning_of(plan, Change(0.0, 0.0, 0.0, 0.0, 0), run, opened.codes)
    spec, small = pruned_vae(resolve(run.open()), opened.vae, plan)
    after = open_vae(small, opened.data, spec=spec, auxiliary=opened.auxiliary, rows=opened.rows)
    result = pruning_of(plan, change_of(opened, after, plan.kept), out, opened.codes)
    _write(out, run, spec, small, result)
    return result


def pruned_vae(spec: Experiment, vae: VAE, plan: PruningPlan) -> tuple[Experiment, VAE]:
    """The spec of the smaller model, which says what it was made of, and the model."""
    kept = plan.kept
    if spec.posterior.name not in HEADS:
        raise RunError(
            f"The latents of posterior.name={spec.posterior.name} share their noise, so one "
            "cannot be dropped without changing the others.",
            f"Train it again with latent={len(kept)}.",
        )
    if any(is_own(part) for part in (spec.net, spec.posterior, spec.prior)):
        raise RunError(
            "This run has networks or a prior of your own, which vaescope cannot make smaller.",
            "In Python, vs.prune(vs.load_vae(run), data) gives a module that puts the dropped "
            "latents back; or train it again with fewer latents.",
        )
    layers = list(vae.decoder.body.children())
    first = layers[0] if layers else None
    if not isinstance(first, nn.Linear) or first.bias is None:
        raise RunError(
            f"The decoder of net.name={spec.net.name} has no first layer with a bias that could "
            "take the constants of the dropped latents.",
            "In Python, vs.prune(vs.load_vae(vs.Run(path)), data) gives a module that puts them "
            "back.",
        )
    prior, weights = _prior(spec, vae, kept)
    rows = HEADS[spec.posterior.name](kept, spec.latent)
    for name in ("encoder.posterior.head.weight", "encoder.posterior.head.bias"):
        weights[name] = weights[name][rows]
    weights |= _folded(weights["decoder.body.0.weight"], weights["decoder.body.0.bias"], plan)
    made_of = PrunedSpec(run=digest(spec), latent=spec.latent, dropped=plan.dropped)
    smaller = spec.model_copy(update={"latent": len(kept), "prior": prior, "pruned": made_of})
    small = build_vae(smaller)
    small.load_state_dict(weights)
    return smaller, small.eval()


def _folded(weight: Tensor, bias: Tensor, plan: PruningPlan) -> dict[str, Tensor]:
    """W z + b = W_kept z_kept + (b + W_dropped c), summed in float64."""
    dropped = list(plan.dropped)
    constants = torch.from_numpy(plan.constants[dropped])
    moved = bias.double() + weight[:, dropped].double() @ constants
    return {
        "decoder.body.0.weight": weight[:, plan.kept],
        "decoder.body.0.bias": moved.to(bias.dtype),
    }


def _prior(spec: Experiment, vae: VAE, kept: list[int]) -> tuple[Any, dict[str, Tensor]]:
    """Settings of the prior over the kept latents, the same there as before; and the weights of
    the model with those of its prior cut."""
    weights = dict(vae.state_dict())
    prior = spec.prior
    if isinstance(prior, MixturePriorSpec):
        means = tuple(tuple(mean[latent] for latent in kept) for mean in prior.means)
        return prior.model_copy(update={"means": means}), weights
    if isinstance(prior, SubspacesPriorSpec):
        # Some latents of a Student-t are one of as many degrees of freedom.
        sizes = prior.sizes(spec.latent)
        groups = [group for group, size in enumerate(sizes) for _ in range(size)]
        counts = Counter(groups[latent] for latent in kept)
        return prior.model_copy(update={"size": tuple(counts.values())}), weights
    if isinstance(prior, AnisotropicPriorSpec):
        # Shares sum to one over fewer latents: what the dropped ones had goes into `variance`.
        shares = weights["prior.log_shares"].double().softmax(0)
        left = float(shares[kept].sum()) * spec.latent / len(kept)
        weights["prior.log_shares"] = weights["prior.log_shares"][kept]
        return prior.model_copy(update={"variance": prior.variance * left}), weights
    if isinstance(vae.prior, ConditionalPrior):
        for network in ("log_variance", "mean"):
            last = len(vae.prior.log_variance) - 1
            for name in (f"prior.{network}.{last}.weight", f"prior.{network}.{last}.bias"):
                if name in weights:
                    weights[name] = weights[name][kept]
    return prior, weights


def _write(out: Run, run: Run, spec: Experiment, vae: VAE, result: Pruning) -> None:
    out.create(spec)
    with out.lock():
        if run.environment.is_file():  # that of the training: nothing was trained here
            replace_file(out.environment, run.environment.read_bytes())
        weights = weights_bytes(vae)
        replace_file(out.weights, weights)
        out.finish(
            {
                "format": FORMAT,
                "digest": digest(spec),
                "steps": spec.steps,
                "weights_sha256": hashlib.sha256(weights).hexdigest(),
                "pruned": result.to_dict(),
            }
        )
