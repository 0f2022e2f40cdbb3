"""How many latents do these data need? Several answers side by side, and one number.

FONDUE (Bonheme and Grzes 2022, https://arxiv.org/abs/2209.12806) looks for the most latents that
samples fill no more than means do, and in a variant for the most that are all active. Beside them:
how many latents a wide model uses at beta 1, the dimension of its posterior means, and the
dimension of the data themselves.
"""

import html
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from vaescope.build import build_auxiliary, build_data, data_settings, start_from_data
from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.errors import ShapeError, UsageError
from vaescope.estimates import Estimate
from vaescope.latents.types import types
from vaescope.metrics.intrinsic_dimension import mle_dimension, two_nn_dimension
from vaescope.model_specs import GaussianSpec, SquaredErrorSpec
from vaescope.opening import open_vae
from vaescope.progress import Progress, told
from vaescope.seeds import rng
from vaescope.settings import from_python
from vaescope.specs import BetaVAESpec, CosineSpec, Experiment
from vaescope.training.api import choose_device
from vaescope.training.loop import new_state, steps
from vaescope.training.precision import choose, threads_for
from vaescope.training.run import check_range
from vaescope.tuning.scale import require_variation
from vaescope.tuning.tune import template_of
from vaescope.user_data import as_dataset

__all__ = [
    "LatentCount",
    "LatentTrial",
    "bisected",
    "count_latents",
    "gaussian_dimension",
    "how_many_latents",
]

#: Examples for dimensions and types, and neighbours of the dimension: FONDUE's 20.
EXAMPLES, NEIGHBOURS = 5_000, 20
#: FONDUE: samples may have this share of the data's dimension more than means.
GAP = 0.2
#: Steps of a trial; the wide model, from which the number is, has twice as many. Its least latents.
STEPS, WIDE = 2_000, 10


@dataclass(frozen=True)
class LatentTrial:
    """A short training with so many latents."""

    latents: int
    means: Estimate | None  # intrinsic dimension; None where all means are the same
    samples: Estimate | None
    used_means: Estimate | None  # of the latents in use alone: passive means move a little too
    active: int
    mixed: int
    passive: int
    loss: float  # nats of an example, with its weights
    seconds: float

    @property
    def used(self) -> int:
        return self.active + self.mixed

    def gap(self) -> float:
        """By how much samples fill more dimensions than means."""
        if self.means is None or self.samples is None:
            return float("inf")
        return self.samples.value - self.means.value

    def to_dict(self) -> dict[str, Any]:
        return {
            "latents": self.latents, "means": _number(self.means), "samples": _number(self.samples),
            "used_means": _number(self.used_means),
            "active": self.active, "mixed": self.mixed, "passive": self.passive,
            "loss": self.loss, "seconds": self.seconds,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class LatentCount:
    """The number to use, what each method says, and the trainings behind them."""

    recommended: int  # the number to use
    fondue: int | None  # None if time ran out before it was found
    by_types: int | None  # found by doubling until a latent is not active
    wide: LatentTrial  # the wide model, trained on the ELBO
    dimension: int  # dimension of Gaussian points with the estimate of the wide model's means
    data: dict[str, Estimate | None]  # intrinsic dimension by "mle" and "two_nn"
    trials: tuple[LatentTrial, ...]  # the trainings
    notes: tuple[str, ...]
    seconds: float  # total time in seconds

    def summary(self) -> str:
        def told_(estimate: Estimate | None) -> str:
            if estimate is None:
                return "not measurable"
            if estimate.interval is None:
                return f"{estimate.value:.1f}"
            low, high = estimate.interval
            return f"{estimate.value:.1f} ({low:.1f} to {high:.1f})"

        fondue, by_types = ("open" if n is None else n for n in (self.fondue, self.by_types))
        lines = [
            f"Use {self.recommended} latent{'' if self.recommended == 1 else 's'}.",
            f"  dimension of posterior means, wide model   {self.dimension}"
            f"  [{told_(self.wide.used_means)}]",
            f"  latents in use, wide model, beta 1         {self.wide.used} of {self.wide.latents}",
            f"  FONDUE, dimension of means and samples     {fondue}",
            f"  FONDUE, by types                           {by_types}",
            f"  the data's own dimension                   {told_(self.data['mle'])} by "
            f"likelihood, {told_(self.data['two_nn'])} by two neighbours",
        ]
        return "\n".join([*lines, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        return {
            "recommended": self.recommended, "fondue": self.fondue, "by_types": self.by_types,
            "used": self.wide.used, "dimension": self.dimension, "wide": self.wide.to_dict(),
            "data": {name: _number(found) for name, found in self.data.items()},
            "trials": [trial.to_dict() for trial in self.trials],
            "notes": list(self.notes), "seconds": self.seconds,
        }  # fmt: skip

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"


def how_many_latents(
    data: Any = None,
    preset: str = "vae",
    *,
    most: int = 64,
    minutes: float = 10.0,
    device: str = "auto",
    progress: Progress | bool | None = None,
    **settings: Any,
) -> LatentCount:
    """How many latents a preset needs on these data, by short trainings.

    The number is the dimension of the posterior means of a wide model at beta 1: the ELBO,
    with the variance of a Gaussian likelihood learnt. Do not trust it if notes say that methods
    disagree for a reason that fits your data, above all for angles and classes, which take more
    than one latent each.

    Args:
        data: as for `vs.train`; None takes the preset's own.
        preset: its objective, networks and optimiser are used.
        most: largest number of latents to try.
        minutes: no training starts that would end later, judged by the time of the wide model,
            which is trained first in any case.
        progress: as for `vs.inspect`.
        settings: settings of the preset, as for `vs.train`; `steps` applies to each training.
        device: `auto`, `cpu`, `cuda` or `mps`.

    Returns:
        `LatentCount`: the number to use, what each method says, and the trainings behind them.

    Raises:
        UsageError: a preset or setting is not known, or data are missing.

    Example:
        >>> import vaescope as vs
        >>> count = vs.how_many_latents(vs.known.signals(), most=2, steps=20, minutes=0.1)
        >>> count.recommended <= 2
        True
    """
    given = None if data is None else as_dataset(data)
    settings.setdefault("steps", STEPS)
    spec = from_python(preset, None if given is None else data_settings(given), settings)
    return count_latents(spec, given, most=most, minutes=minutes, device=device, progress=progress)


def count_latents(
    spec: Experiment,
    data: Dataset | None = None,
    *,
    most: int = 64,
    minutes: float = 10.0,
    device: str = "auto",
    progress: Progress | bool | None = None,
) -> LatentCount:
    """The same of an experiment: its steps are those of a training, its latents do not count."""
    if most < 2 or not minutes > 0:
        raise UsageError(
            f"most is {most} and minutes {minutes:g}; wanted at least 2, and a positive number.",
            "Leave them out for 64 latents and 10 minutes.",
        )
    if spec.posterior.name != "diagonal":
        raise UsageError(
            f"posterior.name={spec.posterior.name} has no types of latents to count.",
            "Use a preset with posterior.name=diagonal, e.g. vae.",
        )
    began = time.monotonic()
    spec = template_of(spec, spec.steps)
    rows = build_data(spec.data) if data is None else data
    check_range(rows, spec)
    require_variation(rows)
    own = _dimensions(rows)
    trainer = _Trainer(spec, rows, choose_device(device))
    start = 4 if own["mle"] is None else max(1, round(own["mle"].value))
    deadline = began + 60 * minutes

    def tried(latents: int) -> LatentTrial | None:
        known = trainer.known(latents)
        # A trial has half the steps of the wide model.
        ends = time.monotonic() + wide.seconds / 2
        return known if known or ends > deadline else trainer.trial(latents, tell)

    with told(progress, "how many latents") as tell:
        wide = trainer.wide(min(most, max(WIDE, 2 * start + 2)), tell)
        while wide.used == wide.latents < most and time.monotonic() + wide.seconds < deadline:
            wide = trainer.wide(min(most, 2 * wide.latents), tell)
        unit = wide.means if own["mle"] is None else own["mle"]
        allowed = GAP * (1.0 if unit is None else unit.value)
        fondue = bisected(start, most, tried, lambda trial: trial.gap() <= allowed)
        by_types = bisected(start, most, tried, lambda trial: trial.active == trial.latents)
    dimension = gaussian_dimension(wide, trainer.examples)
    recommended = max(1, min(dimension, wide.used))
    notes = _disagreements(recommended, wide, fondue, by_types, own["mle"])
    if fondue is None or by_types is None:
        why = f"{minutes:g} minutes were over, or even {most} latents were not too many."
        notes.append(f"FONDUE has no answer: {why}")
    return LatentCount(
        recommended, fondue, by_types, wide, dimension, own, tuple(trainer.trials), tuple(notes),
        time.monotonic() - began,
    )  # fmt: skip


def bisected(
    start: int,
    most: int,
    tried: Callable[[int], LatentTrial | None],
    fits: Callable[[LatentTrial], bool],
) -> int | None:
    """The most latents that fit: doubled from `start` until they do not, then halved between.

    None where `tried` has no more time, or where even `most` fit.
    """
    low, high, now = 0, most + 1, min(start, most)
    while now > low:
        trial = tried(now)
        if trial is None:
            return None
        if fits(trial):
            low, now = now, (2 * now if high > most else (now + high) // 2)
            now = min(now, most)
        else:
            high, now = now, (low + now) // 2
    return None if low == most else low


def gaussian_dimension(trial: LatentTrial, examples: int) -> int:
    """The dimension of normal points, as many as were encoded, that look like the trial's means.

    Nearest neighbours underestimate: 5,000 normal points of 10 dimensions look like 8.6.
    """
    if trial.used_means is None:
        return 0
    value = trial.used_means.value
    before: float | None = None
    for d in range(1, trial.latents + 1):
        points = rng(0, "how-many", d).standard_normal((examples, d))
        looks = mle_dimension(points, k=NEIGHBOURS).value
        if looks >= value:
            nearer = before is not None and value - before < looks - value
            return d - 1 if nearer else d
        before = looks
    return trial.latents


class _Trainer:
    """Trains with so many latents; trials are kept."""

    def __init__(self, spec: Experiment, data: Dataset, device: torch.device) -> None:
        self.spec, self.data, self.device = spec, data, device
        self.rows = data.sample(EXAMPLES, seed=0)
        self.examples = len(self.rows)
        self.auxiliary = build_auxiliary(spec, data)
        self.trials: list[LatentTrial] = []

    def known(self, latents: int) -> LatentTrial | None:
        return next((trial for trial in self.trials if trial.latents == latents), None)

    def trial(self, latents: int, tell: Progress) -> LatentTrial:
        self.trials.append(self._trained(self.spec, latents, self.spec.steps, tell))
        return self.trials[-1]

    def wide(self, latents: int, tell: Progress) -> LatentTrial:
        """With the ELBO's weights; the variance of a Gaussian likelihood is learnt."""
        honest = self.spec.model_copy(update={"objective": BetaVAESpec(beta=1.0)})
        if isinstance(honest.likelihood, SquaredErrorSpec | GaussianSpec):
            honest = honest.model_copy(update={"likelihood": GaussianSpec(learned=True)})
        return self._trained(honest, latents, 2 * self.spec.steps, tell)

    def _trained(self, spec: Experiment, latents: int, length: int, tell: Progress) -> LatentTrial:
        began = time.monotonic()
        lr = spec.optimiser.lr
        if isinstance(lr, float):
            lr = CosineSpec(start=lr, stop=0.1 * lr, steps=length)
        spec = spec.model_copy(
            update={
                "latent": latents, "steps": length,
                "optimiser": spec.optimiser.model_copy(update={"lr": lr}),
                "logging": spec.logging.model_copy(update={"every": max(length // 10, 1)}),
            }
        )  # fmt: skip
        state = new_state(spec, self.device)
        start_from_data(spec, self.data, [state.vae])
        threads = torch.get_num_threads()
        torch.set_num_threads(threads_for(state.vae))
        loss = float("nan")
        try:
            for record in steps(state, spec, self.data, choose("fp32", self.device, state.vae)):
                if record is not None:
                    loss = record.loss
                    tell(f"{latents} latents, step {record.step:,} of {length:,}")
        finally:
            torch.set_num_threads(threads)
        opened = open_vae(state.vae, self.data, spec=spec, auxiliary=self.auxiliary, rows=self.rows)
        return _measured(opened.codes, loss, time.monotonic() - began)


def _measured(codes: Codes, loss: float, seconds: float) -> LatentTrial:
    kinds = types(codes)
    used = kinds.of("active", "mixed")
    return LatentTrial(
        codes.d, _dimension(codes.mean), _dimension(codes.sample),
        _dimension(codes.mean[:, used]) if len(used) else None, len(kinds.active),
        len(kinds.mixed), len(kinds.passive), loss, seconds,
    )  # fmt: skip


def _dimension(points: Any) -> Estimate | None:
    try:
        return mle_dimension(points, k=NEIGHBOURS, limit=EXAMPLES)
    except ShapeError:  # all the same, or on a grid
        return None


def _dimensions(data: Dataset) -> dict[str, Estimate | None]:
    rows = data.rows(data.sample(EXAMPLES, seed=0))
    try:
        two = two_nn_dimension(rows, limit=EXAMPLES)
    except ShapeError:
        two = None
    return {"mle": _dimension(rows), "two_nn": two}


def _disagreements(
    recommended: int, wide: LatentTrial, fondue: int | None, by_types: int | None,
    own: Estimate | None,
) -> list[str]:  # fmt: skip
    """What it means where methods differ by more than one."""
    notes = []
    if wide.used > recommended + 1:
        notes.append(
            f"The wide model spreads {recommended} dimensions over {wide.used} latents: cyclic "
            "factors (angles) and classes take more than one latent each, and short training has "
            f"the same effect. With {wide.used} latents nothing is lost."
        )
    if wide.used == wide.latents:
        notes.append(f"All {wide.latents} latents of the wide model are in use: raise most.")
    if own is not None and own.value > recommended + 1.5:
        notes.append(
            f"The data appear to have {own.value:.1f} dimensions: that includes the noise of "
            "single values, which a model leaves out."
        )
    if own is not None and own.value < recommended - 1.5:
        notes.append(
            f"The data appear to have only {own.value:.1f} dimensions: neighbours are far apart "
            "(too few examples), or strong factors hide weak ones."
        )
    if fondue is not None and abs(fondue - recommended) > 1:
        notes.append(
            f"FONDUE gives {fondue}: it depends on when the noise of samples fills further "
            "dimensions, and so on the preset's beta."
        )
    if by_types is not None and abs(by_types - recommended) > 1:
        notes.append(
            f"By types the number is {by_types}: latents are active where the preset's beta "
            "allows narrow posteriors, whether the data need them or not."
        )
    return notes


def _number(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    interval = None if estimate.interval is None else list(estimate.interval)
    return {"value": estimate.value, "interval": interval, "n": estimate.n}
