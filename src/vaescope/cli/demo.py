"""`vaescope demo`: from nothing to a dissected VAE in a minute."""

from pathlib import Path
from typing import Annotated

import typer

from vaescope.cli.output import DeviceOption, JsonOption, QuietOption, messages, result
from vaescope.cli.summary import show_summary
from vaescope.cli.train import train_one

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the run and its report.")] = Path("demo"),
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    device: DeviceOption = "auto",
    no_images: Annotated[
        bool, typer.Option("--no-images", help="Leave pictures out of the report.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a beta-VAE on built-in data, dissect it and write report.html. Needs no download.

    Example: vaescope demo --out demo
    """
    from vaescope.settings import from_command_line

    console = messages(quiet=quiet)
    console.print("Training a beta-VAE on scale, x and y of one ellipse: about a minute.")
    experiment = from_command_line("demo", [f"seed={seed}"])
    run, _ = train_one(experiment, "demo", out, device, console)

    from vaescope.inspection import inspect
    from vaescope.report import save

    inspection = inspect(run, images=not no_images)
    report = out / "report.html"
    save(inspection, report)
    show_summary(inspection, console)
    types = [latent.type for latent in sorted(inspection.latents, key=lambda one: one.index)]
    content = {"report": str(report), "run": str(run.path), "types": types}
    result(content, f"Open {report}", as_json=as_json)
