"""`vaescope train`: a preset into a run folder."""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from vaescope.cli import completion
from vaescope.cli.output import (
    DeviceOption,
    JsonOption,
    QuietOption,
    SeedOption,
    messages,
    result,
)
from vaescope.cli.signals import stop_on_signals
from vaescope.cli.summary import show_summary
from vaescope.errors import UsageError, VaescopeError

if TYPE_CHECKING:
    from vaescope.runs import Run
    from vaescope.specs import Experiment
    from vaescope.training.run import Progress as Step

__all__ = ["TwoLines", "parse_seeds", "refuse_repeated", "settings_with_seed", "train", "train_one"]

#: Rows whose codes the summary of a trained run is made of.
SUMMARISED = 2_000
#: Runs of one command, which are trained one after another.
MOST = 10_000


def parse_seeds(text: str) -> list[int]:
    """`0..9` is inclusive, `3` one seed, `1,4,7` a list.

    >>> parse_seeds("0..3")
    [0, 1, 2, 3]
    """
    seeds: range | list[int] = []
    with suppress(ValueError):
        if ".." in text:
            first, last = (int(part) for part in text.split(".."))
            seeds = range(first, last + 1)
        else:
            seeds = [int(part) for part in text.split(",")]
    if len(seeds[: MOST + 1]) > MOST:
        raise UsageError(f"--seeds {text} is more than {MOST:,} runs.", "Use `vaescope sweep`.")
    if not seeds or min(seeds) < 0:
        raise UsageError(
            f"--seeds {text!r} names no seed of 0 or more.", "Write --seeds 0..9 or --seeds 1,4."
        )
    return list(dict.fromkeys(seeds))


def refuse_repeated(given: Sequence[str]) -> None:
    """A setting given twice is a mistake, as in a YAML file: the second would be taken unsaid."""
    keys = [setting.partition("=")[0] for setting in given]
    for key in keys:
        if keys.count(key) > 1:
            twice = " and ".join(one for one in given if one.partition("=")[0] == key)
            raise UsageError(f"{key} was given twice: {twice}.", "Give it once.")


def settings_with_seed(given: Sequence[str], seed: int | None) -> list[str]:
    """`--seed` as the setting that it is; two seeds for one run are refused."""
    if seed is None:
        return list(given)
    if both := [setting for setting in given if setting.partition("=")[0] == "seed"]:
        raise UsageError(f"The seed was given twice: {both[0]} and {seed}.", "Give it once.")
    return [*given, f"seed={seed}"]


def _describe(step: "Step") -> str:
    record = step.record
    if record is None:
        return ""
    parts = [f"{name} {value:.2f}" for name, value in record.parts.items()]
    kinds = [f"{count} {name}" for name, count in record.types.items()]
    return f"{', '.join(parts)} | {', '.join(kinds)}"


class TwoLines(Progress):
    """Name, bar, count and time to go on one line, of which only the name is cut where the window
    is narrow; speed and numbers on the next."""

    def __init__(self, console: Console) -> None:
        name = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        super().__init__(
            TextColumn("{task.description}", table_column=name), BarColumn(bar_width=24),
            TextColumn("{task.completed}/{task.total}", table_column=Column(no_wrap=True)),
            TimeRemainingColumn(table_column=Column(no_wrap=True)),
            console=console, disable=not console.is_terminal, expand=True,
        )  # fmt: skip

    def get_renderables(self) -> Iterator[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        for task in self.tasks:
            below = " | ".join(filter(None, (task.fields["speed"], task.fields["what"])))
            yield Text(f"  {below}", no_wrap=True, overflow="ellipsis")


def _show(steps: "Generator[Step, None, None]", console: Console, label: str) -> None:
    """Draws a bar on a terminal, else a plain line every few seconds."""
    started = spoken = time.monotonic()
    first = next(steps, None)
    if first is None:
        return
    # Closed, so that the run is saved also where nobody reads these lines any more.
    with closing(steps), TwoLines(console) as bar:
        task = bar.add_task(label, total=first.steps, completed=first.step, speed="", what="")
        for step in steps:
            now = time.monotonic()
            speed = f"{(step.step - first.step) / (now - started):.1f} steps/s"
            bar.update(task, completed=step.step, speed=speed)
            if step.record is None:
                continue
            bar.update(task, what=_describe(step))
            if not console.is_terminal and (now - spoken > 5.0 or step.step == step.steps):
                spoken = now
                line = f"{label} {step.step}/{step.steps} {speed} | {_describe(step)}"
                console.print(line, soft_wrap=True)


def train_one(
    experiment: "Experiment",
    name: str,
    folder: Path,
    device: str,
    console: Console,
    loggers: Sequence[str] = (),
) -> "tuple[Run, int]":
    """Trains one run to its end. Returns it, and the step at which it was taken up."""
    from vaescope.allocator import keep_freed_memory

    keep_freed_memory()  # before torch allocates anything
    from vaescope.build import build_data, check_parts
    from vaescope.loggers import check_loggers, logged
    from vaescope.runs import Run
    from vaescope.training.api import choose_device
    from vaescope.training.run import begun, train_run

    check_loggers(loggers)
    where = choose_device(device)
    run = Run.of(experiment, name, folder)
    check_parts(experiment)
    resumed = 0

    def noted(steps: "Iterator[Step]") -> "Generator[Step, None, None]":
        nonlocal resumed
        for position, step in enumerate(steps):
            if position == 0:
                resumed = step.step
            yield step

    with stop_on_signals() as signalled, begun(run, experiment):
        if run.is_done:
            console.print(f"{run.path} is done.", soft_wrap=True)
            return run, experiment.steps
        data = build_data(experiment.data)
        steps = train_run(run, run.open(), data, device=where, stop=signalled)
        steps = logged(steps, run, experiment, loggers)
        _show(noted(steps), console, run.path.name)
    return run, resumed


def _summarise(run: "Run", console: Console) -> None:
    """What the run has learned. It is trained whether or not that can be said."""
    from vaescope.inspection.dissect import dissect
    from vaescope.inspection.effort import EFFORTS
    from vaescope.opening import open_model

    try:
        show_summary(dissect(open_model(run, rows=SUMMARISED), EFFORTS["latents"]), console)
    except VaescopeError as problem:
        console.print(f"There is no summary: {problem}", soft_wrap=True)


def train(
    preset: Annotated[
        str, typer.Argument(help="A preset, e.g. beta-vae.", autocompletion=completion.presets)
    ],
    settings: Annotated[
        list[str] | None, typer.Argument(help="key=value ...", autocompletion=completion.settings)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for runs. [default: runs]")] = None,
    seed: SeedOption = None,
    seeds: Annotated[str | None, typer.Option(help="Several seeds, e.g. 0..9.")] = None,
    device: DeviceOption = "auto",
    logger: Annotated[
        list[str] | None, typer.Option(help="csv, tensorboard, wandb or mlflow; may be repeated.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Only compare 20 steps on the device with 20 steps on the CPU."
        ),
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a preset into a run folder. The same command resumes a run that was stopped.

    Example: vaescope train beta-vae data.size=32 objective.beta=4 steps=3000 --seed 0

    objective.name=mylab:Weighted and net.name=mylab:build use your own code, which is imported
    from the current folder or an installed package, and executed.
    """
    from vaescope.paths import runs_folder
    from vaescope.settings import from_command_line
    from vaescope.specs import digest

    if seed is not None and seeds is not None:
        raise UsageError("--seed and --seeds were both given.", "Give one of them.")
    console = messages(quiet=quiet)
    given = list(settings or [])
    refuse_repeated(given)
    chosen = parse_seeds(seeds) if seeds is not None else [seed]
    experiments = [from_command_line(preset, settings_with_seed(given, one)) for one in chosen]
    if check:
        return _check(experiments, device, as_json=as_json)
    rows: list[dict[str, Any]] = []
    for experiment in experiments:
        folder = runs_folder() if out is None else out
        run, resumed = train_one(experiment, preset, folder, device, console, logger or [])
        if not quiet and not as_json:
            _summarise(run, console)
        rows.append(
            {
                "path": str(run.path),
                "digest": digest(experiment),
                "seed": experiment.seed,
                "steps": experiment.steps,
                "done": run.is_done,
                "resumed_from": resumed,
            }
        )
    return result({"runs": rows}, "\n".join(row["path"] for row in rows), as_json=as_json)


def _check(experiments: "Sequence[Experiment]", device: str, *, as_json: bool) -> None:
    """Says whether the device computes what the CPU does; writes no run. Exit code 1 if not."""
    from vaescope.build import build_data
    from vaescope.training.api import choose_device
    from vaescope.training.device_check import check_device

    where = choose_device(device)
    checks = [check_device(one, build_data(one.data), where) for one in experiments]
    content = {"checks": [check.to_dict() for check in checks]}
    result(content, "\n".join(check.summary() for check in checks), as_json=as_json)
    if not all(check.agrees for check in checks):
        raise typer.Exit(1)
