"""`vs.tune_beta`: the range of useful strengths of a preset on its data."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from vaescope.build import build_data, data_settings
from vaescope.data import Dataset
from vaescope.errors import UsageError
from vaescope.paths import runs_folder
from vaescope.settings import from_python
from vaescope.specs import Experiment, LoggingSpec, digest, resolve, to_dict
from vaescope.training.api import choose_device
from vaescope.tuning.curve import By
from vaescope.tuning.plan import Range
from vaescope.tuning.result import Tuning
from vaescope.tuning.run import EXAMPLES, TuningProgress, Watcher, at_beta, tune
from vaescope.tuning.scale import collapse_scale
from vaescope.tuning.store import Folder
from vaescope.user_data import as_dataset

__all__ = ["known_factors", "template_of", "tune_beta", "tune_experiment"]

_log = logging.getLogger("vaescope")
#: Steps of a round; a short run has a few.
ROUND = 500
#: Learning rate of short runs, at least. Where latents go does not depend on it, how long they take
#: does: at the study's 1e-4 they need tens of thousands of steps.
LEAST_LR = 1e-3
#: Objectives whose beta weighs the rate, so that the data say where it matters.
SCALED = ("beta-vae", "decomposition", "orthogonal", "entropy-vae")
#: The range that is tried by itself, in units of the beta above which a linear model is empty.
LOW, HIGH, FLOOR = 1e-3, 30.0, 1e-6


def tune_beta(
    preset: str,
    data: Any = None,
    *,
    by: By = "onset",
    needed: int | None = None,
    between: tuple[float, float] | None = None,
    overlap_share: float | None = None,
    round_steps: int | None = None,
    short_lr: float | None = None,
    out: str | Path | None = None,
    device: str = "auto",
    **settings: Any,
) -> Tuning:
    """Finds where latents become passive as beta rises, and the strength to use.

    Do not trust the numbers if `.notes` say that latents still changed.

    Args:
        preset: name of a preset.
        data: a dataset, its name or path, or an array; None takes the preset's own.
        by: what chooses the value: `onset`, `dto` (the smallest distance to orthogonality) or
            `overlap` (not calibrated).
        needed: latents that must stay in use; None is one for each factor if the data are a full
            grid or have known sources, otherwise as many as reconstruction needs.
        between: range of beta to search.
        overlap_share: with `by="overlap"`, the wanted share of the examples that share a code; None
            is the geometric mean of one of them and all, a convention.
        round_steps: steps of one round; a short run has 2 to 20 rounds.
        short_lr: learning rate of the short runs; None is the preset's, but at least 1e-3.
        out: folder for runs; None is `$VAESCOPE_RUNS`.
        device: `auto`, `cpu`, `cuda` or `mps`.
        settings: settings by bare name, e.g. `beta=4`.

    Returns:
        `Tuning`: the strength to use, the range it lies in, and the curve that says so.

    Raises:
        BusyError: another process works on the same run.
        DataError: a file is missing or damaged.
        DiskError: a folder cannot be written.
        NonFiniteError: a loss became NaN or infinite.
        RangeError: a value is out of range.
        RunError: a folder is not a run, or the run does not fit.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.
    """
    given = None if data is None else as_dataset(data)
    spec = from_python(preset, None if given is None else data_settings(given), settings)
    return tune_experiment(
        spec, preset, given, by=by, needed=needed, between=between, round_steps=round_steps,
        short_lr=short_lr, folder=runs_folder() if out is None else Path(out), device=device,
        watch=_say, overlap_share=overlap_share,
    )  # fmt: skip


def _say(progress: TuningProgress) -> None:
    if progress.point is not None:
        _log.info("%s", progress.point.to_dict())


def tune_experiment(
    spec: Experiment,
    name: str,
    data: Dataset | None,
    *,
    by: By,
    needed: int | None,
    between: tuple[float, float] | None,
    round_steps: int | None,
    short_lr: float | None,
    folder: Path,
    device: str,
    watch: Watcher,
    overlap_share: float | None = None,
    stop: Callable[[], int] = lambda: 0,
) -> Tuning:
    """The same for an experiment; points are kept below `folder` and reused."""
    if by not in get_args(By):
        raise UsageError(f"There is no rule {by!r}.", f"Use --by {' or '.join(get_args(By))}.")
    _check(spec, needed, between, round_steps, short_lr)
    template = template_of(spec, round_steps, short_lr)
    place = Folder(folder / f"tune-{name}-s{spec.seed}-{digest(at_beta(template, 0.0))[:8]}")
    rows = build_data(template.data) if data is None else data
    where = _range(template, rows, between)
    _check_share(by, overlap_share, min(EXAMPLES, len(rows)))
    place.create({"preset": name, "template": to_dict(template)})
    found = tune(
        template, rows, where, place, by=by, given=needed, factors=known_factors(rows),
        share=overlap_share, device=choose_device(device), stop=stop, watch=watch,
    )  # fmt: skip
    notes = []
    if found.overlap is not None and found.overlap.n < len(rows):
        notes.append(
            f"Codes are shared among {found.overlap.n:,} of {len(rows):,} data points; with all "
            "data more share each code, so a lookup table ends at a lower beta."
        )
    if template.optimiser != resolve(spec).optimiser:
        notes.append(
            f"Short runs had learning rate {template.optimiser.lr}, not the {spec.optimiser.lr} of "
            "the settings, so that they converge; --lr sets it."
        )
    return replace(found, notes=(*found.notes, *notes))


def template_of(
    spec: Experiment, round_steps: int | None = None, short_lr: float | None = None
) -> Experiment:
    """The experiment with a round's length as its steps, one record for each round, and the
    learning rate of short runs."""
    length = min(ROUND, spec.steps) if round_steps is None else round_steps
    lr = spec.optimiser.lr if short_lr is None else short_lr
    if short_lr is None and isinstance(lr, float):
        lr = max(lr, LEAST_LR)
    return resolve(spec).model_copy(
        update={
            "steps": length,
            "logging": LoggingSpec(every=length),
            "optimiser": spec.optimiser.model_copy(update={"lr": lr}),
        }
    )


def known_factors(data: Dataset) -> int | None:
    """How many factors make a row, where that is known: labels alone do not."""
    if data.sources is not None:
        return int(np.count_nonzero(data.sources.var(axis=0)))
    if data.factors is not None and data.factors.complete:
        return sum(size > 1 for size in data.factors.sizes)
    return None


def _check(
    spec: Experiment,
    needed: int | None,
    between: tuple[float, float] | None,
    round_steps: int | None,
    short_lr: float | None,
) -> None:
    objective = spec.objective
    if spec.validation is not None:
        raise UsageError(
            "tune-beta decides how long its runs are, so it takes no validation.",
            "Leave validation out, and give it to `vaescope train`.",
        )
    if "beta" not in type(objective).model_fields or spec.posterior.name == "point":
        raise UsageError(
            f"objective.name={objective.name} has no beta to tune.",
            "Give objective.name=beta-vae, or a preset whose objective has a beta.",
        )
    if between is None and objective.name not in SCALED:
        raise UsageError(
            f"The beta of objective.name={objective.name} does not weight the full rate, so the "
            "data do not determine its range.",
            "Give the range, e.g. --between 1,100.",
        )
    if between is not None and not 0 < between[0] < between[1] < float("inf"):
        raise UsageError(
            f"The range from {between[0]:g} to {between[1]:g} is empty or not positive.",
            "Give two positive numbers, the lower one first, e.g. --between 0.01,10.",
        )
    if needed is not None and not 1 <= needed <= spec.latent:
        raise UsageError(
            f"--needed is {needed}; there are {spec.latent} latents.",
            f"Give --needed from 1 to {spec.latent}, or raise latent.",
        )
    if round_steps is not None and round_steps < 1:
        raise UsageError(
            f"--steps is {round_steps}; wanted at least 1.", "Use --steps 500, for example."
        )
    if short_lr is not None and not 0 < short_lr < float("inf"):
        raise UsageError(
            f"--lr is {short_lr}; wanted a positive number.", "Use --lr 1e-3, for example."
        )


def _check_share(by: By, share: float | None, n: int) -> None:
    if share is None:
        return
    if by != "overlap":
        raise UsageError(f"--by {by} takes no --overlap-share.", "Give --by overlap.")
    if not 1.0 / n < share < 1.0:
        raise UsageError(
            f"--overlap-share is {share:g}; more than one and fewer than all of {n:,} data points "
            "can share a code.",
            f"Give a share between {1.0 / n:.2g} and 1.",
        )


def _range(template: Experiment, data: Dataset, between: tuple[float, float] | None) -> Range:
    if between is not None:
        return Range(between[0], between[1], floor=between[0])
    scale = collapse_scale(template, data)
    return Range(LOW * scale, HIGH * scale, floor=FLOOR * scale)
