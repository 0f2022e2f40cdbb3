"""Dissects a run: its codes, what its decoder shows, and how its training went."""

import json
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vaescope.build import build_auxiliary, build_data
from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.encoding import encode, load_vae
from vaescope.inspection.codes import inspect_codes
from vaescope.inspection.results import Fit, Inspection, Settings, Subject, Training
from vaescope.latents import kl_of_rows
from vaescope.runs import Run
from vaescope.settings import experiment, preset
from vaescope.specs import Experiment, to_dict
from vaescope.traversals import Decode, Reconstructions, central, reconstruct, traverse
from vaescope.vae import VAE
from vaescope.verdicts import judge

__all__ = ["inspect_run"]

#: Examples encoded, as in paper 001; of these, decoded to measure the fit; of these, shown.
ROWS, DECODED, SHOWN = 10_000, 2_000, 12


@torch.inference_mode()
def _fit(vae: VAE, data: Dataset, codes: Codes, rows: NDArray[np.int64]) -> Fit | None:
    """Distortion at one sample of the posterior each, and the rate in closed form."""
    rate = kl_of_rows(codes).sum(axis=1)
    if not np.isfinite(rate).all() or codes.covariance is not None:
        return None
    few = np.linspace(0, len(rows) - 1, min(DECODED, len(rows))).astype(np.int64)
    parts = []
    for start in range(0, len(few), 256):
        chosen = few[start : start + 256]
        p = vae.decoder(torch.from_numpy(codes.sample[chosen]))
        parts.append(-p.log_prob(torch.from_numpy(data.rows(rows[chosen]))).double().numpy())
    distortion, rate = np.concatenate(parts), rate[few]
    return Fit(
        float(distortion.mean()), float(distortion.std()),
        float(rate.mean()), float(rate.std()), len(few),
    )  # fmt: skip


def _reconstructions(
    vae: VAE, data: Dataset, codes: Codes, rows: NDArray[np.int64]
) -> Reconstructions:
    # Spread over the data, without its first and last row: grids have their corners there.
    few = np.unique(np.linspace(0, len(rows) - 1, SHOWN + 2).astype(np.int64)[1:-1])
    labels = tuple(f"example {row}" for row in rows[few])
    if codes.factors is not None:
        names, classes = codes.factor_names, codes.factors
        varies = np.flatnonzero(np.ptp(classes, axis=0))
        labels = tuple(
            ", ".join(f"{names[k]} {classes[place, k]}" for k in varies) for place in few
        )
    return reconstruct(_decoder(vae), codes.mean[few], data.rows(rows[few]), rows[few], labels)


def _decoder(vae: VAE) -> Decode:
    def decode(z: Tensor) -> Tensor:
        mean: Tensor = vae.decoder(z).mean
        return mean

    return decode


def _training(run: Run) -> Training | None:
    rows = [row for row in run.records() if "distortion" in row]
    if not rows:
        return None

    def column(name: str) -> NDArray[np.float64]:
        # A null in the history was no finite number; a plain autoencoder has no rate.
        values = [row.get(name) for row in rows]
        return np.array([np.nan if value is None else value for value in values])

    def counts(name: str) -> NDArray[np.int64]:
        return np.array([row[name] for row in rows], dtype=np.int64)

    return Training(
        counts("step"), column("loss"), column("distortion"), column("rate"),
        counts("active"), counts("mixed"), counts("passive"),
    )  # fmt: skip


def _settings(run: Run, spec: Experiment) -> Settings:
    there = run.environment.exists()
    environment = json.loads(run.environment.read_text("utf-8")) if there else {}
    return Settings(to_dict(spec), environment)


def _notes(spec: Experiment) -> tuple[str, ...]:
    if spec.data != experiment(preset("demo")).data:
        return ()
    return (
        "The demo shows the ellipse with a third of x's range for y. With equal ranges x and y "
        "would be the degenerate case of paper 002: their directions of largest variance may turn "
        "freely, so the model still polarises, but its axes mean nothing and MIG stays near 0.1.",
    )


def _subject(run: Run, spec: Experiment, data: Dataset, n: int) -> Subject:
    beta = getattr(spec.objective, "beta", None)
    strength = f" (beta {beta:g})" if isinstance(beta, float) else ""
    says = (
        f"{spec.objective.name}{strength} with {spec.latent} latents, trained for "
        f"{spec.steps:,} steps on {data.name}, seed {spec.seed}."
    )
    return Subject(run.path.name, data.name, n, len(data), says)


def inspect_run(run: Run, data: Dataset | None = None, *, images: bool = True) -> Inspection:
    """Dissects a finished run on at most 10,000 examples of its data.

    `data` is needed only where the run was trained on the user's own arrays. `images=False` keeps
    no picture: neither examples nor what the decoder makes of them.
    """
    spec = run.open()
    data = build_data(spec.data) if data is None else data
    vae = load_vae(run)
    rows = data.sample(ROWS, seed=0)
    codes = encode(vae, data, index=rows, auxiliary=build_auxiliary(spec, data))
    of_codes = inspect_codes(codes, _subject(run, spec, data, codes.n))
    traversals = traverse(_decoder(vae), codes.mean[central(codes.mean)])
    training = _training(run)
    verdicts = judge(
        of_codes.latents,
        of_codes.samples,
        factors=of_codes.factors,
        traversals=traversals,
        training=training,
    )
    return replace(
        of_codes,
        verdicts=verdicts,
        fit=_fit(vae, data, codes, rows),
        traversals=traversals if images else replace(traversals, outputs=None),
        reconstructions=_reconstructions(vae, data, codes, rows) if images else None,
        training=training,
        settings=_settings(run, spec),
        notes=_notes(spec),
    )
