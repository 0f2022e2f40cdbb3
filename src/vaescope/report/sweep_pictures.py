"""What the decoders of a sweep draw: a strip for each setting."""

from pathlib import Path

import numpy as np
import torch

from vaescope.encoding import load_vae
from vaescope.errors import VaescopeError
from vaescope.report.page import Part, Picture, Pictures, Prose, Section
from vaescope.report.pictures import rows_of
from vaescope.report.sweep_parts import setting_name, settings_of
from vaescope.seeds import rng
from vaescope.tables import Table as Runs
from vaescope.types import Floats

__all__ = ["strips_section"]

#: Settings that have a strip, images in it, and bytes of all strips.
SETTINGS, DRAWN, BUDGET = 16, 10, 400_000
#: Letters of a name that fit beside a strip without a break.
SHORT, HOLD = 10, "\N{NO-BREAK SPACE}"


def strips_section(runs: Runs, folder: Path) -> Section | None:
    """Outputs of the first finished run of each setting, at codes drawn from its prior; None where
    no run draws images."""
    settings = settings_of(runs)
    chosen = {
        key: next((i for i in places if runs.settings["done"][i]), None)
        for key, places in settings.items()
    }
    few = [place for place in chosen.values() if place is not None][:SETTINGS]
    strips, names, failed = [], [], []
    for place in few:
        run = str(runs.settings["run"][place])
        try:
            outputs = _drawn(folder / run)
        except VaescopeError as problem:
            failed.append(f"{run}: {problem}")
            continue
        if outputs is not None:
            strips.append(outputs)
            names.append((setting_name(runs, place), run))
    if not strips:
        return None
    largest = max(outputs.shape[-2] for outputs in strips)
    pictures = tuple(
        Picture(
            rows_of(outputs[None], BUDGET // len(strips), height=min(largest, 64))[0],
            f"Outputs of {run} at codes drawn from its prior.",
            label=name.replace(" ", HOLD) if len(name) <= SHORT else name,
        )
        for (name, run), outputs in zip(names, strips, strict=True)
    )  # fmt: skip
    caption = (
        f"Outputs at {DRAWN} codes from the prior, of the first run of each setting. A decoder "
        "that ignores its latents draws the same image at every code."
    )
    parts: list[Part] = [Pictures(caption, pictures, "rows")]
    more = len([place for place in chosen.values() if place is not None]) - len(few)
    if more:
        parts.append(Prose(f"The first {SETTINGS} settings; {more:,} more are left out.", True))
    parts += [Prose(f"Left out: {reason}", aside=True) for reason in failed[:3]]
    return Section("strips", "Samples", "One row for each setting.", tuple(parts))


@torch.inference_mode()
def _drawn(run: Path) -> Floats | None:
    """(DRAWN, channels, height, width) in [0, 1]; None where outputs are not images. All runs get
    the same random numbers."""
    vae = load_vae(run)
    z = vae.prior.density().draw(rng(0, "sweep pictures"), DRAWN, np.zeros(DRAWN, np.int64))
    outputs = vae.decoder(torch.from_numpy(z.astype(np.float32))).mean.float().numpy()
    if outputs.ndim != 4 or outputs.shape[1] not in (1, 3):
        return None
    return np.asarray(np.clip(np.nan_to_num(outputs), 0.0, 1.0), dtype=np.float64)
