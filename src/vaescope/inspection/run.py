"""Dissects a run: the model in its folder, its data, and how its training went."""

import json
from dataclasses import replace
from typing import Any

from vaescope.build import build_data
from vaescope.data import Dataset
from vaescope.encoding import load_vae
from vaescope.errors import RunError
from vaescope.inspection.dissect import Progress, silent
from vaescope.inspection.results import Inspection
from vaescope.inspection.trained import inspect_trained
from vaescope.runs import Run
from vaescope.settings import experiment, preset
from vaescope.specs import Experiment

__all__ = ["inspect_run"]


def _notes(spec: Experiment) -> tuple[str, ...]:
    notes = []
    if (pruned := spec.pruned) is not None:
        gone = ", ".join(map(str, pruned.dropped))
        notes.append(
            f"Pruned from the run with digest {pruned.run}: of its {pruned.latent} latents "
            f"{gone} were passive and are constants in this decoder."
        )
    if spec.data == experiment(preset("demo")).data:
        notes.append(
            "The demo shows the ellipse with a third of x's range for y. With equal ranges x and y "
            "would be the degenerate case of paper 002: their directions of largest variance may "
            "turn freely, so the model still polarises, but its axes mean nothing and MIG stays "
            "near 0.1."
        )
    return tuple(notes)


def inspect_run(
    run: Run,
    data: Dataset | None = None,
    *,
    effort: str = "default",
    images: bool = True,
    progress: Progress = silent,
) -> Inspection:
    """Dissects a finished run on at most 10,000 examples of its data.

    `data` is needed only where the run was trained on the user's own arrays. `images=False` keeps
    no picture: neither examples nor what the decoder makes of them.
    """
    spec = run.open()
    found = inspect_trained(
        load_vae(run), spec, build_data(spec.data) if data is None else data, run.records(),
        name=run.path.name, environment=_environment(run), effort=effort, images=images,
        progress=progress,
    )  # fmt: skip
    return replace(found, notes=_notes(spec))


def _environment(run: Run) -> dict[str, Any]:
    if not run.environment.exists():
        return {}
    try:
        found = json.loads(run.environment.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(
            f"{run.environment} is not JSON: {error}.",
            "Delete it: the report then goes without versions and threads.",
        ) from error
    return found if isinstance(found, dict) else {}
