"""Several models in one pass: one architecture, different seeds and strengths.

Small networks are bound by the overhead of each operation, not by arithmetic. K of them stacked
cost little more than one: parameters of all are one matrix (K, P), each step is one `vmap` of the
objective and one Adam update, and ten steps are compiled into one call where there is a compiler.
Each model has its own data order and noise, the ones it would have alone.
"""

import json
import logging
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.build import build_objective, build_schedule, build_vae, start_from_data
from vaescope.data import Dataset
from vaescope.errors import UsageError
from vaescope.objectives import Objective
from vaescope.objectives.unused import UnusedPosterior, unused_posterior
from vaescope.optimiser_specs import AdamSpec
from vaescope.optimisers import optimiser_spec
from vaescope.schedules import Schedule
from vaescope.specs import ConditionalPriorSpec, Experiment, resolve, to_dict
from vaescope.training.compiled_steps import Critics, Moments, Steps, steps_of
from vaescope.training.correlations import next_kept
from vaescope.training.loop import Record, record_of, unused_at_steps
from vaescope.training.precision import SMALL
from vaescope.training.stacked_batches import StackedBatches
from vaescope.vae import VAE, Batch

__all__ = ["Many", "compiling_pays", "groups", "signature", "stackable", "train_many"]

_LOG = logging.getLogger("vaescope")

#: Steps that one compiled call makes, and steps over all models of one call in C.
UNROLL, BLOCK = 10, 800
#: Parameters up to which steps in C pay: 4 times the solo run's processor time at 140,000, 1.7 at
#: 1,100,000, nothing from 2,200,000 on, where products in bf16 catch up.
MOST_IN_C = 1_500_000
#: Models of a group. Below four stacking costs more than it saves; compiled, sixteen train as fast
#: per model as fifty, and several groups keep several workers busy.
LEAST, MOST = 4, 16
#: Steps over all models: fewer take seconds anyway, and apart each one that ends is safe.
WORTH = 20_000
#: Steps over all models of a group: as much as may be lost when it is killed, some minutes.
BUDGET = 4_000_000
#: The same for larger models, in steps times parameters: some ten minutes.
WORK = 100_000_000_000
#: Steps over all models of a group from which compiling them, most of a minute, is made good.
COMPILE_FROM = 1_000_000


def signature(experiment: Experiment) -> str:
    """What models must share to be stacked: all but seed, strengths and learning rate."""
    content = to_dict(resolve(experiment))
    del content["seed"]
    content["objective"] = _without_numbers(content["objective"])
    content["optimiser"]["lr"] = _without_numbers(content["optimiser"]["lr"])
    return json.dumps(content, sort_keys=True)


def _without_numbers(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {name: _without_numbers(value) for name, value in tree.items()}
    return "number" if isinstance(tree, float) else tree


def stackable(experiment: Experiment) -> bool:
    """Whether stacking pays for this architecture: fully connected, small or written in C, with
    pairs or a critic only the latter, no u, no validation, no KL by latent, from fresh
    weights, and all parts ours."""
    spec = resolve(experiment)
    if spec.validation is not None:
        return False
    if spec.logging.latent_kl:
        return False
    vae, objective, size = build_vae(spec), build_objective(spec), _size(spec)
    plain = spec.net.name in ("linear", "mlp") and isinstance(spec.optimiser, AdamSpec)
    sees_u = isinstance(spec.prior, ConditionalPriorSpec)
    if spec.own or spec.init_from is not None:  # own code may not be one that vmap takes
        return False
    if not plain or sees_u:
        return False
    if spec.pairs is None and not objective.modules and size < SMALL:
        return True
    seen = objective.needs_pairs == (spec.pairs is not None)
    return seen and size < MOST_IN_C and _writes_in_c(spec, vae, objective)


def _size(experiment: Experiment) -> int:
    modules = (build_vae(resolve(experiment)), *build_objective(experiment).modules.values())
    return sum(parameter.numel() for own in modules for parameter in own.parameters())


def _writes_in_c(spec: Experiment, vae: VAE, objective: Objective) -> bool:
    assert isinstance(spec.optimiser, AdamSpec)
    rate = build_schedule(spec.optimiser.lr)
    return steps_of(vae, objective, rate, spec.optimiser, spec.batch, tanh=_Tanh) is not None


def groups(experiments: Sequence[Experiment]) -> list[list[int]]:
    """Positions to train together. A function of the list alone, never of what is done already."""
    together: dict[str, list[int]] = {}
    for position, experiment in enumerate(experiments):
        together.setdefault(signature(experiment), []).append(position)
    found = []
    for positions in together.values():
        first, count = experiments[positions[0]], len(positions)
        enough = count >= LEAST and count * first.steps >= WORTH
        most = _most(first) if enough and stackable(first) else 1
        parts = math.ceil(count / most) if most >= LEAST else count
        found += [part.tolist() for part in np.array_split(positions, parts)]
    return sorted(found)


def _most(experiment: Experiment) -> int:
    """How many models of this kind one group may have."""
    size = _size(experiment)
    return min(MOST, BUDGET // experiment.steps, WORK // (experiment.steps * size))


def compiling_pays(experiments: Sequence[Experiment]) -> bool:
    """Whether the steps of a group are so many that compiling them is worth its time."""
    return len(experiments) * experiments[0].steps >= COMPILE_FROM


@dataclass(frozen=True)
class Many:
    """What happened since the last one: a record per model where one is due."""

    step: int
    records: tuple[Record, ...] | None
    #: Models whose loss is no longer finite, and the step at which that was seen.
    failed: Mapping[int, int]
    #: The weights as they are now, one model each; called when they are wanted.
    weights: Callable[[int], VAE]


# Objectives and schedules are frozen dataclasses: their floats are stacked, the rest is shared.
def _numbers(value: Any) -> list[float]:
    if is_dataclass(value):
        return [n for entry in fields(value) for n in _numbers(getattr(value, entry.name))]
    return [value] if isinstance(value, float) else []


def _filled(value: Any, numbers: Iterator[Tensor]) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: _filled(getattr(value, f.name), numbers) for f in fields(value)}
        return replace(value, **parts)
    return next(numbers) if isinstance(value, float) else value


class _Loss(nn.Module):
    """The objective as a module's forward, so that `functional_call` can give it parameters."""

    def __init__(self, vae: VAE) -> None:
        super().__init__()
        self.vae = vae

    def forward(self, objective: Objective, batch: Batch, step: Tensor, noise: Tensor) -> Any:
        terms = objective(self.vae, batch, step, noise)
        variance, mean = terms.posterior.variance.detach(), terms.posterior.mean.detach()
        return terms.loss, {
            "loss": terms.loss.detach(),
            **{f"part.{name}": part.detach() for name, part in terms.parts.items()},
            "variance": variance.mean(0),
            "variance_squared": (variance**2).mean(0),
            "mean": mean.mean(0),
            "mean_squared": (mean**2).mean(0),
        }


class _Tanh(nn.Module):
    """tanh by the logistic function, to 2e-7: a third of the library's time, and once operations
    have no overhead its tanh takes half of a step."""

    def forward(self, x: Tensor) -> Tensor:
        return 2.0 * torch.sigmoid(2.0 * x) - 1.0


def _with_quick_tanh(vae: VAE) -> VAE:
    for parent in list(vae.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.Tanh:
                setattr(parent, name, _Tanh())
    return vae


@dataclass(frozen=True)
class _Stack:
    """What does not change from step to step."""

    template: _Loss
    shapes: Mapping[str, torch.Size]
    objective: Objective
    strengths: Tensor  # (K, numbers)
    rate: Schedule  # of tensors (K,)
    adam: AdamSpec
    dataset_size: int
    critics: Critics | None = None

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        """Parameters of one model from its row of the matrix, where `_laid_out` put them."""
        parts = torch.split(flat, [size.numel() for size in self.shapes.values()])
        return {
            name: part.view(shape[::-1]).mT if len(shape) == 2 else part.view(shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def loss(
        self, flat: Tensor, strengths: Tensor, x: Tensor, noise: Tensor, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        objective = _filled(self.objective, iter(strengths.unbind()))
        batch = Batch(x, torch.empty(0), self.dataset_size)
        found = torch.func.functional_call(
            self.template, self.named(flat), (objective, batch, step, noise)
        )
        return cast(tuple[Tensor, dict[str, Tensor]], found)

    def total(
        self, flat: Tensor, x: Tensor, noise: Tensor, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The sum over models, whose gradient is that of each in its own row."""
        losses, parts = torch.func.vmap(self.loss, in_dims=(0, 0, 0, 0, None))(
            flat, self.strengths, x, noise, step
        )
        return losses.sum(), parts

    def advance(
        self, flat: Tensor, moments: Moments, x: Tensor, noise: Tensor, step: Tensor
    ) -> tuple[Tensor, Moments, dict[str, Tensor]]:
        """As many steps as x and noise have; x (steps, K, batch, ...), noise (steps, K, ...)."""
        seen = []
        b1, b2 = self.adam.betas
        first, second, largest = moments
        for t in range(x.shape[0]):
            now = step + t
            gradient, parts = torch.func.grad(self.total, has_aux=True)(flat, x[t], noise[t], now)
            # Adam as torch.optim has it, element by element.
            first = first + (1.0 - b1) * (gradient - first)
            second = b2 * second + (1.0 - b2) * gradient**2
            largest = torch.maximum(largest, second) if self.adam.amsgrad else second
            root = (largest / (1.0 - b2 ** (now + 1.0))).sqrt()
            size = (self.rate(now) / (1.0 - b1 ** (now + 1.0))).unsqueeze(-1)
            flat = flat - size * first / (root + self.adam.eps)
            seen.append(parts)
        stacked = {name: torch.stack([parts[name] for parts in seen]) for name in seen[0]}
        return flat, (first, second, largest), stacked


def _in_c(stack: _Stack, batch: int) -> Steps | None:
    """The same steps in C, where the models are of the kind that is written there."""
    filled = _filled(stack.objective, iter(stack.strengths.unbind(1)))
    return steps_of(
        stack.template.vae, filled, stack.rate, stack.adam, batch, tanh=_Tanh, critics=stack.critics
    )


def _laid_out(parameter: Tensor) -> Tensor:
    """The numbers of a parameter in the order of the matrix. Weights are by input: gradients by two
    inputs of a layer are then products of long rows, four times faster than of long columns."""
    return (parameter.mT if parameter.ndim == 2 else parameter).detach().reshape(-1)


def _flat(modules: Sequence[nn.Module]) -> Tensor:
    return torch.stack([torch.cat([_laid_out(p) for p in own.parameters()]) for own in modules])


def _optimiser(experiments: Sequence[Experiment], group: str) -> tuple[Schedule, AdamSpec]:
    """The learning rates of a group of parameters, tensors (K,), and what models share."""
    adam = optimiser_spec(experiments[0], group)
    assert isinstance(adam, AdamSpec)
    rates = [build_schedule(optimiser_spec(experiment, group).lr) for experiment in experiments]
    numbers = torch.tensor([_numbers(rate) for rate in rates])
    return _filled(rates[0], iter(numbers.unbind(1))), adam


def _stack(experiments: Sequence[Experiment], data: Dataset) -> tuple[_Stack, Tensor]:
    models = [build_vae(experiment) for experiment in experiments]
    start_from_data(experiments[0], data, models)
    shapes = {f"vae.{name}": p.shape for name, p in models[0].named_parameters()}
    objectives = [build_objective(experiment) for experiment in experiments]
    rate, adam = _optimiser(experiments, "vae")
    critics = None
    if "critic" in objectives[0].modules:
        own = _flat([objective.modules["critic"] for objective in objectives])
        still = (torch.zeros_like(own), torch.zeros_like(own))
        critics = Critics(own, *still, *_optimiser(experiments, "critic"))
    strengths = torch.tensor([_numbers(objective) for objective in objectives])
    stack = _Stack(
        _Loss(_with_quick_tanh(models[0])), shapes, objectives[0], strengths, rate, adam, len(data),
        critics,
    )  # fmt: skip
    return stack, _flat(models)


def _compiled(advance: Callable[..., Any]) -> Callable[..., Any] | None:
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        _LOG.info("no C++ compiler: stacked models train without compiled steps")
        return None
    return torch.compile(advance, dynamic=False)


def train_many(
    experiments: Sequence[Experiment], data: Dataset, *, compiled: bool = True
) -> Iterator[Many]:
    """Trains all experiments together on the CPU and yields at each record, where correlations are
    to be kept, and at the end.

    They must have the same `signature`. A model whose loss is not finite is reported in `failed`
    and carried along; the others are not touched by it.
    """
    if len({signature(experiment) for experiment in experiments}) != 1:
        raise UsageError(
            "These experiments differ in more than seed, strengths and learning rate.",
            "Train them separately, or group them with vaescope.training.many.groups.",
        )
    spec = experiments[0]
    if isinstance(spec.prior, ConditionalPriorSpec):
        raise UsageError(
            "Stacked models do not see u, which prior.name=conditional depends on.",
            "Train them one by one.",
        )
    stack, flat = _stack(experiments, data)
    feed = StackedBatches(experiments, data, stack.objective.draws)
    moments = (torch.zeros_like(flat), torch.zeros_like(flat), torch.zeros_like(flat))
    native = _in_c(stack, spec.batch)
    if native is None and (spec.pairs is not None or stack.objective.modules):
        raise UsageError(
            "Stacked models see pairs, and train critics, only where their steps are in C.",
            "Train them one by one.",
        )
    fast = _compiled(stack.advance) if compiled and native is None else native
    # Rows that are not all in memory are gathered for a block of steps.
    most = UNROLL if native is None or feed.rows is None else max(1, BLOCK // len(experiments))
    failed: dict[int, int] = {}
    window: list[dict[str, Tensor]] = []
    step = 0

    def weights(model: int) -> VAE:
        vae = build_vae(experiments[model])
        for name, value in stack.named(flat[model]).items():
            vae.get_parameter(name.removeprefix("vae.")).data.copy_(value)
        for name, buffer in stack.template.vae.named_buffers():
            vae.get_buffer(name).copy_(buffer)
        return vae

    objectives = [build_objective(experiment) for experiment in experiments]
    fixed = stack.template.vae.prior
    learned = any(True for _ in fixed.parameters())
    of_fixed = [unused_at_steps(objective, fixed) for objective in objectives]

    def unused(model: int, step: int) -> UnusedPosterior:
        if learned:
            return unused_posterior(objectives[model], weights(model).prior, step=step)
        return of_fixed[model](step)

    while step < spec.steps:
        recorded = min(spec.steps, step + spec.logging.every - step % spec.logging.every)
        due = min(recorded, next_kept(spec, step))
        count = most if fast is not None and due - step >= most else 1
        if native is not None:
            count = min(most, due - step)
        call = fast if fast is not None and (count == most or native) else stack.advance
        now = torch.tensor(float(step))
        if native is not None and feed.rows is not None:
            noise, index = feed.noise(step, count), feed.index(step, count)
            flat, moments, parts = native(flat, moments, feed.rows, noise, now, index)
        else:
            x, noise = feed(step, count)
            flat, moments, parts = call(flat, moments, x, noise, now)
        for model in torch.nonzero(~torch.isfinite(parts["loss"]).all(0)).flatten().tolist():
            failed.setdefault(model, step)
        window.append(parts)
        step += count
        if step == recorded:
            becomes = [unused(model, step - 1) for model in range(len(experiments))]
            yield Many(step, _records(step, window, becomes), dict(failed), weights)
            window.clear()
        elif step == due:
            yield Many(step, None, dict(failed), weights)


def _records(
    step: int, window: list[dict[str, Tensor]], unused: Sequence[UnusedPosterior]
) -> tuple[Record, ...]:
    sums = {
        name: torch.cat([parts[name] for parts in window]).double().sum(0) for name in window[0]
    }
    count = torch.tensor(float(sum(len(parts["loss"]) for parts in window)))
    return tuple(
        record_of(step, {**{name: total[k] for name, total in sums.items()}, "steps": count}, own)
        for k, own in enumerate(unused)
    )
