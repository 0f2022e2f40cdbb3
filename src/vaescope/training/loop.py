"""The one training loop: a generator that advances a state and says what happened.

The caller logs, draws, checkpoints or stops; the loop only computes. Data order and noise are
functions of (seed, step), so a state needs no generator to be resumed exactly.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.build import (
    build_auxiliary,
    build_objective,
    build_optimiser,
    build_pairs,
    build_schedule,
    build_vae,
    optimiser_spec,
)
from vaescope.data import Dataset
from vaescope.data.auxiliary import Auxiliary
from vaescope.data.pairs import Pairs
from vaescope.distributions import DiagonalGaussian, Distribution, kl_per_latent
from vaescope.errors import NonFiniteError, UsageError
from vaescope.latent_types import LatentType, count_types, types_of
from vaescope.objectives import Objective, Terms
from vaescope.objectives.terms import Pull
from vaescope.objectives.unused import UnusedPosterior, unused_posterior
from vaescope.priors import ConditionalPrior
from vaescope.seeds import derive, order, rng
from vaescope.specs import Experiment
from vaescope.training.precision import Precision, autocast
from vaescope.vae import VAE, Batch, Prior, as_input

__all__ = [
    "Record",
    "State",
    "fetch",
    "new_state",
    "noise_at",
    "pair",
    "record_of",
    "steps",
    "unused_at_steps",
]


@dataclass
class State:
    """All that changes during training. Mutable; saved and loaded by `checkpoint`."""

    vae: VAE
    objective: Objective
    optimisers: Mapping[str, torch.optim.Optimizer]
    device: torch.device
    step: int = 0
    #: Sums since the last record: part -> float64 tensor.
    window: dict[str, Tensor] = field(default_factory=dict)
    #: The best measurement on rows held out so far, by `training.validation`; empty without one.
    validation: dict[str, Tensor] = field(default_factory=dict)

    @property
    def recorded(self) -> int:
        """The step of the last record."""
        return self.step - int(self.window["steps"]) if self.window else self.step

    @property
    def groups(self) -> dict[str, nn.Module]:
        """Modules by optimiser group."""
        return {"vae": self.vae, **self.objective.modules}


@dataclass(frozen=True)
class Record:
    """Means over the steps since the last record."""

    step: int
    loss: float
    parts: Mapping[str, float]
    types: Mapping[LatentType, int]  # live count of active, mixed and passive latents
    variance: tuple[float, ...]  # mean posterior variance of each latent
    latent_kl: tuple[float, ...] = ()  # nats, where `logging.latent_kl` asks for it

    def to_dict(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "loss": self.loss,
            **self.parts,
            **{str(name): count for name, count in self.types.items()},
            "variance": list(self.variance),
            **({"latent_kl": list(self.latent_kl)} if self.latent_kl else {}),
        }


def new_state(experiment: Experiment, device: torch.device) -> State:
    """The state before the first step."""
    vae = build_vae(experiment).to(device)
    objective = build_objective(experiment)
    for module in objective.modules.values():
        module.to(device)
    groups = {"vae": vae, **objective.modules}
    optimisers = {
        name: build_optimiser(experiment, name, module.parameters())
        for name, module in groups.items()
    }
    return State(vae, objective, optimisers, device)


def fetch(
    data: Dataset,
    index: np.ndarray[Any, Any],
    device: torch.device,
    auxiliary: Auxiliary | None = None,
) -> Batch:
    """The rows `index` on the device, with their u where there is one."""
    u = None if auxiliary is None else torch.from_numpy(auxiliary(index)).to(device)
    rows = as_input(data.rows(index), device)
    return Batch(rows, torch.from_numpy(index).to(device), len(data), u)


def pair(batch: Batch, data: Dataset, pairs: Pairs, seed: int, step: int) -> Batch:
    """The batch with the second row of each pair, a function of the seed and the step."""
    partners = pairs(batch.index.cpu().numpy(), rng(seed, "pairs", step))
    device = batch.x.device
    return replace(
        batch,
        pair=as_input(data.rows(partners.index), device),
        shared=None if partners.shared is None else torch.from_numpy(partners.shared).to(device),
    )


def noise_at(seed: int, step: int, shape: tuple[int, ...], device: torch.device) -> Tensor:
    """Standard normal noise of one step. Drawn on the CPU, so that devices agree."""
    generator = torch.Generator().manual_seed(derive(seed, "noise", step))
    return torch.randn(shape, generator=generator).to(device)


@contextmanager
def _own_randomness(experiment: Experiment, state: State) -> Iterator[None]:
    """Dropout and the like of the user's parts draw from the global generators of torch, NumPy and
    Python: within a step these are functions of the seed and the step too."""
    if not experiment.own:
        yield
        return
    generators = [torch.default_generator]
    if state.device.type == "cuda":
        generators.append(torch.cuda.default_generators[state.device.index or 0])
    before = [generator.get_state() for generator in generators]
    of_numpy, of_python = np.random.get_state(), random.getstate()
    own = derive(experiment.seed, "own", state.step)
    for generator in generators:
        generator.manual_seed(own)
    np.random.seed(own % 2**32)
    random.seed(own)
    try:
        yield
    finally:
        np.random.set_state(of_numpy)
        random.setstate(of_python)
        for generator, held in zip(generators, before, strict=True):
            generator.set_state(held)


def _gradients(terms: Terms, state: State) -> None:
    """Each loss moves its own group only: a critic's parameters lie on the VAE's path too."""
    losses = {"vae": terms.loss, **terms.others}
    for position, (name, loss) in enumerate(losses.items(), 1):
        parameters = list(state.groups[name].parameters())
        gradients = torch.autograd.grad(
            loss, parameters, retain_graph=position < len(losses), allow_unused=True
        )
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient


#: What a row of the history holds beside the parts of the loss (`Record.to_dict`).
_COLUMNS = {"step", "loss", "variance", "latent_kl", "validation_elbo"}.union(get_args(LatentType))


def _check_terms(terms: Any, state: State) -> None:
    if not isinstance(terms, Terms):
        raise UsageError(
            f"The objective returned {type(terms).__name__}, wanted vs.Terms.",
            "Return vs.Terms(loss, parts, posterior).",
        )
    if not (isinstance(terms.parts, Mapping) and isinstance(terms.others, Mapping)):
        raise UsageError(
            "parts and others of the objective must be dictionaries of tensors by name.",
            'Return vs.Terms(loss, {"rate": rate}, posterior).',
        )
    if not all(isinstance(getattr(terms.posterior, m, None), Tensor) for m in ("mean", "variance")):
        raise UsageError(
            f"posterior of the objective is {type(terms.posterior).__name__}; wanted q(z|x), which "
            "has tensors mean and variance.",
            "Return vs.Terms(loss, parts, vae.encoder(batch.x)).",
        )
    if unknown := [name for name in terms.others if name not in state.objective.modules]:
        raise UsageError(
            f"The objective has a loss {unknown[0]} among others, and no module of that name.",
            "Return a module of each name from the objective's property modules.",
        )
    if taken := sorted(_COLUMNS & set(terms.parts)):
        raise UsageError(
            f"The objective names a part {taken[0]}, which is already a column of the history.",
            "Give the part another name.",
        )
    losses = {"loss": terms.loss, **terms.others}
    for name, value in {**terms.parts, **losses}.items():
        if not isinstance(value, Tensor) or value.ndim:
            is_tensor = isinstance(value, Tensor)
            got = f"has shape {tuple(value.shape)}" if is_tensor else f"is {type(value).__name__}"
            raise UsageError(
                f"{name} of the objective {got}; wanted a tensor of one number.",
                "Sum over dimensions, then take the mean over the batch: .sum(1).mean().",
            )
        if value.is_complex():
            raise UsageError(
                f"{name} of the objective is complex; wanted a real number.", "Give its real part."
            )
        if name in losses and not value.requires_grad:
            raise UsageError(
                f"{name} of the objective does not depend on the weights, so nothing is learnt.",
                "Compute it from vae and batch, without .detach(), .item(), NumPy or no_grad.",
            )
    if torch.isfinite(terms.loss) and all(map(torch.isfinite, terms.others.values())):
        return
    bad = [name for name, part in terms.parts.items() if not torch.isfinite(part)] or ["loss"]
    raise NonFiniteError(
        f"{', '.join(bad)} became {terms.parts.get(bad[0], terms.loss).item()} at step "
        f"{state.step}.",
        "Lower the learning rate (optimiser.lr) or check the data.",
    )


def _latent_kl(terms: Terms, prior: Distribution) -> Tensor:
    """The mean over the batch of each latent's KL, nats."""
    q = terms.posterior
    if not (isinstance(q, DiagonalGaussian) and isinstance(prior, DiagonalGaussian)):
        raise UsageError(
            f"logging.latent_kl needs diagonal Gaussians; this model has {type(q).__name__} and a "
            f"prior that is {type(prior).__name__}.",
            "Leave logging.latent_kl out.",
        )
    return kl_per_latent(q, prior).mean(0)


@torch.no_grad()
def _accumulate(
    window: dict[str, Tensor], terms: Terms, vae: VAE, u: Tensor | None, *, latent_kl: bool = False
) -> None:
    variance, mean = terms.posterior.variance.detach(), terms.posterior.mean.detach()
    seen = {
        "loss": terms.loss.detach(),
        **{f"part.{name}": part.detach() for name, part in terms.parts.items()},
        "variance": variance.mean(0),
        "variance_squared": (variance**2).mean(0),
        "steps": torch.ones((), device=variance.device),
    }
    if isinstance(vae.prior, ConditionalPrior):
        p = vae.prior(u)
        ratio, mean = variance / p.variance, (mean - p.mean) / p.variance.sqrt()
        seen |= {"ratio": ratio.mean(0), "ratio_squared": (ratio**2).mean(0)}
    seen |= {"mean": mean.mean(0), "mean_squared": (mean**2).mean(0)}
    if latent_kl:
        seen["latent_kl"] = _latent_kl(terms, vae.prior(u))
    begun = bool(window)
    for name, value in seen.items():
        if name in window or not begun:  # a window of an older version has no means
            window[name] = window[name] + value if begun else value.double()


def unused_at_steps(objective: Objective, prior: Prior) -> Callable[[int], UnusedPosterior]:
    """step -> what a latent that ignores x becomes; computed anew only where that can change."""
    known: dict[Pull, UnusedPosterior] = {}
    learned = any(True for _ in prior.parameters())

    def at(step: int) -> UnusedPosterior:
        pull = objective.pull(step)
        if learned or pull not in known:
            known[pull] = unused_posterior(objective, prior, step=step)
        return known[pull]

    return at


def record_of(step: int, window: Mapping[str, Tensor], unused: UnusedPosterior) -> Record:
    """Means of a window of sums. Latents are typed by `vaescope.latent_types.types_of` in units of
    what latents have that ignore x, the means from the prior's; where there is no such thing none
    is passive."""
    means = {name: (total / window["steps"]).cpu() for name, total in window.items()}
    variance = means["variance"].numpy()
    if "ratio" in means:
        ratio, squared = means["ratio"].numpy(), means["ratio_squared"].numpy()
    else:
        ratio, squared = variance, means["variance_squared"].numpy()
    units: Any = unused.factor if unused.units is None else unused.units
    ratio, squared = ratio / units, squared / units**2
    movement = None
    if "mean" in means:
        movement = (means["mean_squared"] - means["mean"] ** 2).numpy() / units
    if not unused.minima:
        movement = np.full(len(ratio), np.inf)
    return Record(
        step,
        means["loss"].item(),
        {
            name.removeprefix("part."): value.item()
            for name, value in sorted(means.items())  # a resumed window comes in another order
            if name.startswith("part.")
        },
        count_types(types_of(ratio, squared - ratio**2, movement, spread=unused.spread)),
        tuple(variance.tolist()),
        tuple(means["latent_kl"].tolist()) if "latent_kl" in means else (),
    )


def steps(
    state: State, experiment: Experiment, data: Dataset, precision: Precision
) -> Iterator[Record | None]:
    """Advances `state` to the experiment's last step. Yields after each step: a record where one
    is due, else None. Between two yields the state is consistent and can be saved."""
    rates = {name: build_schedule(optimiser_spec(experiment, name).lr) for name in state.optimisers}
    shape = (state.objective.draws, experiment.batch, experiment.latent)
    auxiliary, pairs = build_auxiliary(experiment, data), build_pairs(experiment, data)
    unused = unused_at_steps(state.objective, state.vae.prior)
    while state.step < experiment.steps:
        now = torch.tensor(float(state.step), device=state.device)
        index = order(experiment.seed, state.step, batch=experiment.batch, n=len(data))
        batch = fetch(data, index, state.device, auxiliary)
        if pairs is not None:
            batch = pair(batch, data, pairs, experiment.seed, state.step)
        noise = noise_at(experiment.seed, state.step, shape, state.device)
        with autocast(precision, state.device), _own_randomness(experiment, state):
            terms = state.objective(state.vae, batch, now, noise)
        _check_terms(terms, state)
        _gradients(terms, state)
        asked = experiment.logging.latent_kl
        # Of the prior that the terms are of.
        _accumulate(state.window, terms, state.vae, batch.u, latent_kl=asked)
        for name, optimiser in state.optimisers.items():
            for group in optimiser.param_groups:
                group["lr"] = rates[name](now).item()
            optimiser.step()
        state.step += 1
        if state.step % experiment.logging.every == 0 or state.step == experiment.steps:
            record = record_of(state.step, state.window, unused(state.step - 1))
            state.window.clear()
            yield record
        else:
            yield None
