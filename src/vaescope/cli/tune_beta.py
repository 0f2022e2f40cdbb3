"""`vaescope tune-beta`: where latents go as beta rises, and the strength to use."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.console import Console

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
from vaescope.cli.train import refuse_repeated, settings_with_seed
from vaescope.errors import UsageError

if TYPE_CHECKING:
    from vaescope.tuning.curve import By
    from vaescope.tuning.run import TuningProgress

__all__ = ["tune_beta"]

PAUSE = 5.0  # seconds between two lines about one beta


def _range(text: str | None) -> tuple[float, float] | None:
    """
    >>> _range("0.01,10")
    (0.01, 10.0)
    """
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(
            f"--between {text!r} is not a range.", "Write two numbers, e.g. --between 0.01,10."
        ) from None
    return low, high


class _Teller:
    """A line for each point, and one every few seconds on the way to it."""

    def __init__(self, console: Console) -> None:
        self.console, self.spoken = console, time.monotonic()

    def __call__(self, told: "TuningProgress") -> None:
        point = told.point
        what = "check from scratch at beta" if told.checking else "beta"
        if point is not None:
            dto = "" if point.dto is None else f", DtO {point.dto:.3f}"
            shared = (
                f", {point.effective_number:,.4g} share a code" if point.effective_number else ""
            )
            line = (
                f"{what} {told.beta:g}: {point.active} of {len(point.mean_variance)} latents in "
                f"use, distortion {point.distortion:.4g}{dto}{shared}, {point.steps} steps"
            )
        elif time.monotonic() - self.spoken > PAUSE:
            line = f"{what} {told.beta:g}: step {told.step} of at most {told.most}"
        else:
            return
        self.spoken = time.monotonic()
        self.console.print(line, soft_wrap=True)


def tune_beta(
    preset: Annotated[
        str, typer.Argument(help="A preset, e.g. beta-vae.", autocompletion=completion.presets)
    ],
    settings: Annotated[
        list[str] | None, typer.Argument(help="key=value ...", autocompletion=completion.settings)
    ] = None,
    by: Annotated[
        str, typer.Option(help="Choose beta by onset (of passive latents), dto or overlap.")
    ] = "onset",
    needed: Annotated[
        int | None,
        typer.Option(
            help="Latents that must stay active. [default: estimated from the data or the curve]"
        ),
    ] = None,
    between: Annotated[
        str | None, typer.Option(help="Range of beta, LOW,HIGH. [default: from the data]")
    ] = None,
    overlap_share: Annotated[
        float | None,
        typer.Option(
            help="With --by overlap: wanted share of the data whose codes overlap. [default: the "
            "geometric mean of one data point and all]"
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(help="Steps per round; a run has 2 to 20 rounds. [default: 500, or steps=]"),
    ] = None,
    lr: Annotated[
        float | None,
        typer.Option(help="Learning rate of the runs. [default: the preset's, at least 1e-3]"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for runs. [default: runs]")] = None,
    seed: SeedOption = None,
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Find the range of useful betas by short, warm-started runs, and choose one.

    The same command resumes a search that was stopped.

    Example: vaescope tune-beta beta-vae data.name=synth-linear latent=2 optimiser.lr=1e-2
    """
    from vaescope.paths import runs_folder
    from vaescope.report.tune_page import save_tuning
    from vaescope.settings import from_command_line
    from vaescope.tuning.store import Folder
    from vaescope.tuning.tune import tune_experiment

    console = messages(quiet=quiet)
    refuse_repeated(settings or [])
    spec = from_command_line(preset, settings_with_seed(settings or [], seed))
    with stop_on_signals() as signalled:
        found = tune_experiment(
            spec, preset, None, by=cast("By", by), needed=needed, between=_range(between),
            round_steps=steps, short_lr=lr, folder=runs_folder() if out is None else out,
            device=device, watch=_Teller(console), overlap_share=overlap_share, stop=signalled,
        )  # fmt: skip
    page = Folder(found.folder).page
    save_tuning(found, page)
    content = {**found.to_dict(), "page": str(page)}
    result(content, f"{found.summary()}\n{page}", as_json=as_json)
