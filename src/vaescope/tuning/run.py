"""Short runs with warm starts over beta, kept in a folder as they are made."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from vaescope.allocator import keep_freed_memory
from vaescope.build import build_auxiliary, start_from_data
from vaescope.data import Dataset
from vaescope.decomposition.overlap import overlap
from vaescope.errors import Interrupted, NonFiniteError
from vaescope.geometry.jacobian import grams
from vaescope.geometry.orthogonality import distance_of
from vaescope.latents import types
from vaescope.models import OpenModel
from vaescope.objectives.unused import unused_posterior
from vaescope.opening import open_vae
from vaescope.paths import replace_file
from vaescope.runs import strict_json
from vaescope.specs import Experiment, digest
from vaescope.training.checkpoint import load_state, save_state
from vaescope.training.loop import Record, State, new_state, steps
from vaescope.training.precision import Precision, choose, threads_for
from vaescope.training.run import CHECKPOINT_SECONDS, check_range, environment
from vaescope.tuning.curve import By, CurvePoint, read_curve
from vaescope.tuning.overlap import DRIFT, drift_of, read_overlap
from vaescope.tuning.plan import Next, Range, next_overlap_run, next_run
from vaescope.tuning.result import Tuning, tuning_of
from vaescope.tuning.store import Folder

__all__ = ["EXAMPLES", "TuningProgress", "Watcher", "tune"]

#: Examples that decide types and distortion, the same at every beta; and those for Jacobians.
EXAMPLES, JACOBIANS = 2_000, 50

#: Fewest and most rounds of a short run: one that starts from other weights, one from scratch.
WARM, SCRATCH = (2, 20), (10, 40)
#: A run has converged when no mean posterior variance moves by more from one round to the next.
SETTLED = 0.005
#: The last round has this share of the learning rate: at 1e-2 the steps' own noise moves posterior
#: variances by some hundredths, which is where latents are told passive.
COOLED = 0.1


@dataclass(frozen=True)
class TuningProgress:
    """What a watcher is told: after each round, and with the point after each run."""

    beta: float
    step: int
    most: int  # steps that the run can take
    checking: bool
    point: CurvePoint | None = None


Watcher = Callable[[TuningProgress], None]


def tune(
    template: Experiment,
    data: Dataset,
    where: Range,
    folder: Folder,
    *,
    by: By,
    given: int | None,
    factors: int | None,
    share: float | None,
    device: torch.device,
    stop: Callable[[], int],
    watch: Watcher,
) -> Tuning:
    """Measures what the folder has not yet, and reads the curve. `template.steps` is the length of
    a round; its beta does not count. Stopped by a signal, it saves and raises `Interrupted`."""
    with folder.run.lock():
        runner = _Runner(template, data, folder, device, stop, watch, by)

        def curve() -> list[CurvePoint]:
            return where.within(folder.points("curve"))

        def following() -> Next | None:
            if by == "overlap":
                return next_overlap_run(curve(), where, share=share)
            return next_run(curve(), where, given=given, factors=factors)

        while plan := following():
            runner.run("curve", plan.beta, plan.start)
        reading = read_curve(curve(), by=by, given=given, factors=factors)
        shared = read_overlap(curve(), share) if by == "overlap" else None
        beta = reading.beta if shared is None else shared.beta
        check = None
        if beta is not None:
            runner.run("checks", beta, None)
            check = next(p for p in folder.points("checks") if p.beta == beta)
    return tuning_of(curve(), reading, check, by, folder.path, overlap=shared)


def _unit(state: State) -> float:
    """The variance of a latent that ignores x over the prior's; 1 where there is no such thing."""
    pull = state.objective.pull(state.step)
    if not pull.deviation:
        return pull.factor or 1.0
    variance = unused_posterior(state.objective, state.vae.prior, step=state.step).variance
    return (
        1.0
        if variance is None
        else float((variance / state.vae.prior().variance.detach().numpy()).mean())
    )


def at_beta(template: Experiment, beta: float) -> Experiment:
    objective = template.objective.model_copy(update={"beta": beta})
    return template.model_copy(update={"objective": objective})


def until_step(spec: Experiment, steps: int) -> Experiment:
    return spec.model_copy(update={"steps": steps})


def cooled(spec: Experiment) -> Experiment:
    """With a lower learning rate; one that follows a schedule has its own end."""
    lr = spec.optimiser.lr
    if not isinstance(lr, float):
        return spec
    return spec.model_copy(
        update={"optimiser": spec.optimiser.model_copy(update={"lr": COOLED * lr})}
    )


class _Runner:
    """Trains and measures at one beta after the other."""

    def __init__(
        self,
        template: Experiment,
        data: Dataset,
        folder: Folder,
        device: torch.device,
        stop: Callable[[], int],
        watch: Watcher,
        by: By = "onset",
    ) -> None:
        self.template, self.data, self.folder, self.by = template, data, folder, by
        self.device, self.stop, self.watch = device, stop, watch
        self.rows = data.sample(EXAMPLES, seed=0)
        self.auxiliary = build_auxiliary(template, data)
        self.key = digest(at_beta(template, 0.0))
        self.saved = time.monotonic()
        keep_freed_memory()
        check_range(data, template)

    def run(self, kind: str, beta: float, start: float | None) -> None:
        """Adds the point of one beta to the curve or to its checks, unless it is there."""
        if any(point.beta == beta for point in self.folder.points(kind)):
            return
        name = self._name(beta, checking=kind == "checks")
        state = self._begin(name, beta, start)
        told = TuningProgress(beta, state.step, 0, kind == "checks")
        rounds = self._train(name, state, told, SCRATCH if start is None else WARM)
        unit = _unit(state)
        opened = open_vae(
            state.vae, self.data, spec=at_beta(self.template, beta), auxiliary=self.auxiliary,
            rows=self.rows,
        )  # fmt: skip
        point = _measured(
            opened, beta, unit=unit, steps=state.step, settled=_has_settled(rounds), start=start,
            drift=drift_of(*rounds[-2:]),
        )  # fmt: skip
        self.folder.add_point(kind, point)
        self.watch(replace(told, step=state.step, most=state.step, point=point))

    def _name(self, beta: float, *, checking: bool = False) -> str:
        return f"{'check' if checking else 'beta'}-{beta:g}"

    def _begin(self, name: str, beta: float, start: float | None) -> State:
        """Where it was cut off; else the weights of `start` with a new optimiser; else new."""
        state = new_state(at_beta(self.template, beta), self.device)
        if self.folder.state(name).exists():
            load_state(self.folder.state(name), state, f"{self.key}/{name}")
        elif start is not None:
            before = self._name(start)
            load_state(self.folder.state(before), state, f"{self.key}/{before}")
            state.step, state.window = 0, {}
            for optimiser in state.optimisers.values():
                optimiser.state.clear()
        else:
            start_from_data(self.template, self.data, [state.vae])
        return state

    def _train(
        self, name: str, state: State, told: TuningProgress, limits: tuple[int, int]
    ) -> list[list[float]]:
        """Rounds until the latents have settled, and one that is cooled: mean variances after each
        but the last."""
        length, beta = self.template.steps, told.beta
        spec = at_beta(self.template, beta)
        precision = choose(spec.precision, self.device, state.vae)
        self._note_environment(precision)
        threads = torch.get_num_threads()
        torch.set_num_threads(threads_for(state.vae))
        rounds = self.folder.rounds(name, state.step)
        told = replace(told, most=(limits[1] + 1) * length)
        self.watch(told)
        try:
            while not _is_over(rounds, limits, self.by):
                until = (state.step // length + 1) * length
                record = self._round(name, state, until_step(spec, until), beta, precision)
                self.folder.add_round(name, state.step, record.variance)
                rounds.append(list(record.variance))
                self.watch(replace(told, step=state.step))
            end = (len(rounds) + 1) * length
            if state.step < end:
                self._round(name, state, until_step(cooled(spec), end), beta, precision)
        finally:
            torch.set_num_threads(threads)
        self._save(name, state)
        return rounds

    def _round(
        self, name: str, state: State, spec: Experiment, beta: float, precision: Precision
    ) -> Record:
        self._heed(name, state, beta)
        try:
            for record in steps(state, spec, self.data, precision):
                if record is not None:
                    return record
                self._heed(name, state, beta)
                if time.monotonic() - self.saved > CHECKPOINT_SECONDS:
                    self._save(name, state)
        except NonFiniteError as error:
            raise NonFiniteError(
                f"{error.message} That was at beta {beta:g}; the points before it are kept.",
                "Lower the learning rate with --lr, or check the data.",
            ) from error
        raise AssertionError("a round ends with a record")

    def _heed(self, name: str, state: State, beta: float) -> None:
        """Saves and ends where a signal came."""
        if number := self.stop():
            self._save(name, state)
            raise Interrupted(
                f"Stopped by signal {number} at beta {beta:g} after {state.step} steps; "
                f"{self.folder.path} is saved.",
                "Run the same command again to resume.",
                number,
            )

    def _save(self, name: str, state: State) -> None:
        save_state(self.folder.state(name), state, f"{self.key}/{name}")
        self.saved = time.monotonic()

    def _note_environment(self, precision: Precision) -> None:
        file = self.folder.run.environment
        facts = (strict_json(environment(precision, self.device), indent=1) + "\n").encode()
        if not file.exists() or file.read_bytes() != facts:
            replace_file(file, facts)


def _has_settled(rounds: list[list[float]]) -> bool:
    last, before = rounds[-1], rounds[-2]
    return max(abs(a - b) for a, b in zip(last, before, strict=True)) <= SETTLED


def _is_over(rounds: list[list[float]], limits: tuple[int, int], by: By) -> bool:
    least, most = limits
    if len(rounds) < least:
        return False
    moves = by == "overlap" and drift_of(*rounds[-2:]) > DRIFT
    return len(rounds) >= most or (_has_settled(rounds) and not moves)


def _measured(
    model: OpenModel,
    beta: float,
    *,
    unit: float,
    steps: int,
    settled: bool,
    start: float | None,
    drift: float,
) -> CurvePoint:
    """The point of a model. `unit` is the variance of a latent that ignores x over the prior's: an
    entropy-regularised VAE is the beta-VAE with its latents scaled up (mathieu2019 Corollary 2),
    and variances are told as that one's."""
    found = types(model.codes)
    used = found.of("active", "mixed").tolist()
    places = np.arange(model.codes.n)
    distortion = model.distortion(places, model.noise(places))
    return CurvePoint(
        beta, tuple((found.mean_variance / unit).tolist()), len(used), len(found.mixed),
        float(distortion.mean()), float(distortion.std() / math.sqrt(len(places))),
        _dto(model, used), steps, settled, start,
        overlap(model.codes).effective_number, model.codes.n, drift,
    )  # fmt: skip


def _dto(model: OpenModel, used: list[int]) -> float | None:
    if len(used) < 2:
        return None  # one axis has no other to be orthogonal to
    codes = model.codes
    places = np.linspace(0, codes.n - 1, min(JACOBIANS, codes.n)).astype(np.int64)
    at = torch.from_numpy(codes.mean[places]).float().to(model.device)
    with model.evaluating(gradients=True):
        return distance_of(grams(model.decoder, at, columns=used)).value
