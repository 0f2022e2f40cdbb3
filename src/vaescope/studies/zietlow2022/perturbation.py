"""What the studies of zietlow2022 chapter 4 share: data, methods, arms, and what is measured.

A unit is a replicate: it has a pool, a perturbation, noise and controls of its own, and two fresh
seeds of each method. A cell is one method of one replicate; the cells of a replicate share its
perturbations, which are kept below the folder of runs by what they were made with.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vaescope.build import data_settings
from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.data.files import alone
from vaescope.errors import UsageError
from vaescope.geometry.data_bias import data_bias
from vaescope.latents.unused import unused_units
from vaescope.metrics.dci import dci
from vaescope.metrics.factor_vae import factor_vae
from vaescope.metrics.mig import mig
from vaescope.metrics.sap import sap
from vaescope.opening import encode
from vaescope.paths import runs_folder
from vaescope.perturbing.perturb import perturb_dataset
from vaescope.perturbing.settings import PerturbSettings
from vaescope.runs import Run
from vaescope.settings import from_python
from vaescope.studies.study import Cell, Computed, Measured, Scale
from vaescope.tables import Value
from vaescope.training.run import train_run
from vaescope.user_data import load_dataset

__all__ = ["METHODS", "METRICS", "compute", "work"]

EPSILON = 0.175
HUES = ("floor_hue", "wall_hue", "object_hue")
METRICS = ("mig", "dci", "factor_vae", "sap")
#: Perturbations that share the form of m and not its purpose; for the beta-VAE only.
CONTROLS = ("reversed", "one-factor", "relabelled", "untrained")
#: A latent whose mean variance is above this share of an unused one's is not in use.
UNUSED = 0.8

#: Per scale: hues on an arc, models of a pool, steps of a model and of m, seeds of a method.
_SIZES: Mapping[Scale, tuple[int, int, int, int, int]] = {
    "smoke": (8, 2, 12, 3, 1),
    "laptop": (10, 16, 9000, 1500, 2),
    "paper": (10, 50, 90_000, 15_000, 10),
}


def _strength(steps: int, value: float) -> dict[str, Any]:
    return {"name": "linear", "start": 0.0, "stop": value, "steps": max(steps // 9, 1)}


#: Method -> its preset and settings by the number of steps.
METHODS: Mapping[str, Any] = {
    "ae": lambda steps: ("ae", {}),
    "beta-vae": lambda steps: ("beta-vae", {"objective.beta": _strength(steps, 4.0)}),
    "beta-tcvae": lambda steps: ("beta-tcvae", {"objective.beta": _strength(steps, 4.0)}),
    # 6 x 1000, as Kim and Mnih have it, would make a step thirty times slower.
    "factor-vae": lambda steps: ("factor-vae", {
        "objective.gamma": _strength(steps, 7.0), "objective.critic_width": 128,
        "objective.critic_layers": 3, "objective.critic_lr": 1e-3}),
    "slow-vae": lambda steps: ("slow-vae", {"objective.beta": 1.0, "batch": 16}),
    "pcl": lambda steps: ("pcl", {}),
    "weak-gan": lambda steps: ("weak-gan", {"objective.width": 128}),
}  # fmt: skip


def work(scale: Scale, units: Any = None) -> Computed:
    """Cells by method, then by replicate: neighbours do not wait for the same perturbation."""
    hues, pool, steps, m_steps, seeds = _SIZES[scale]
    replicates = range({"smoke": 1, "laptop": 16, "paper": 16}[scale]) if units is None else units
    settings = {"hues": hues, "pool": pool, "steps": steps, "m_steps": m_steps, "seeds": seeds,
                "contrast": 0.0 if scale == "smoke" else 0.2}  # fmt: skip
    cells = tuple(
        Cell(settings, {"seed": replicate, "method": method})
        for method in METHODS
        for replicate in replicates
    )
    return Computed("zietlow2022-perturbation", cells, compute)


def original(hues: int, **noise: Any) -> Dataset:
    """Arcs of three hues at 16 pixels: factors that a beta-VAE finds."""
    return load_dataset(
        "shapes3d-rendered", size=16, grid={"scale": [4], "shape": [0], "orientation": [7]},
        arcs={name: [0, 4, hues] for name in HUES}, **noise,
    )  # fmt: skip


def compute(columns: Mapping[str, Any]) -> Measured:
    """All arms of one method in one replicate."""
    replicate, method = int(columns["seed"]), str(columns["method"])
    shared = {k: columns[k] for k in ("hues", "pool", "steps", "m_steps", "contrast")}
    name = hashlib.sha256(json.dumps([shared, replicate], sort_keys=True).encode()).hexdigest()[:16]
    folder = runs_folder() / "perturbations" / name
    folder.mkdir(parents=True, exist_ok=True)
    data = original(columns["hues"])
    whole = method == "beta-vae"
    found: dict[str, Value] = {}
    try:
        files, sizes = _perturbations(data, columns, replicate, folder, whole)
    except UsageError as error:  # a pool without contrast makes no perturbation, and no number
        return {"refused": error.message}
    found |= sizes
    arms = {
        "original": data,
        "noise": original(columns["hues"], pixel_noise=EPSILON, noise_seed=replicate),
        **files,
    }
    if whole:
        arms["noise-variance"] = original(
            columns["hues"], pixel_noise=sizes["rms_perturbed"], noise_match="variance",
            noise_seed=replicate,
        )  # fmt: skip
    for arm, rows in arms.items():
        found |= _scores(arm, method, rows, columns, columns["steps"], folder)
        if whole:
            assert rows.factors is not None
            bias = data_bias(rows.rows, rows.factors.classes(np.arange(len(rows))))
            found[f"angle_{arm}"] = float(bias.value) if bias.defined else None
    if whole:  # part of a fall may be slowness
        for arm in ("original", "perturbed"):
            found |= _scores(
                f"{arm}-long", method, arms[arm], columns, 2 * columns["steps"], folder
            )
    return found | _falls(found, whole)


def _perturbations(
    data: Dataset, columns: Mapping[str, Any], replicate: int, folder: Path, whole: bool
) -> tuple[dict[str, Dataset], dict[str, Value]]:
    """The perturbed data and, where asked for, its controls; made once for all cells."""
    plain: dict[str, Any] = {
        "epsilon": EPSILON, "pool": columns["pool"], "least_contrast": columns["contrast"],
        "filtered": columns["contrast"] > 0.0, "steps": columns["m_steps"], "seed": replicate,
    }  # fmt: skip
    training = {"steps": columns["steps"]}
    files: dict[str, Dataset] = {}
    sizes: dict[str, Value] = {}
    for kind in ("perturbed", *(CONTROLS if whole else ())):
        own: dict[str, Any] = {"kind": kind}
        if kind == "one-factor":
            own["factor"] = "wall_hue"
        if kind == "untrained":
            own["rms"] = sizes["rms_perturbed"]
        with alone(folder / kind):
            made = perturb_dataset(
                data, PerturbSettings(**plain, **own), folder / kind, training,
                pool_folder=folder / "pool",
            )  # fmt: skip
        files[kind] = made.data
        sizes[f"largest_{kind}"], sizes[f"rms_{kind}"] = made.largest, made.rms
    return files, sizes


def _scores(
    arm: str, method: str, data: Dataset, columns: Mapping[str, Any], steps: int, folder: Path
) -> dict[str, Value]:
    """Means over the seeds of a method; latents in use are the fewest."""
    found: list[dict[str, float]] = []
    for seed in range(columns["seeds"]):
        codes = _codes(method, data, 1000 * int(columns["seed"]) + 900 + seed, steps, folder)
        gap = mig(codes)
        found.append({
            "mig": gap.value, "dci": dci(codes).disentanglement.value,
            "factor_vae": factor_vae(codes, resamples=0).value, "sap": sap(codes).value,
            **{f"gap_{hue}": float(value)
               for hue, value in zip(HUES, gap.details["gaps"], strict=True)},
            "used": _used(codes),
        })  # fmt: skip
    means = {f"{name}_{arm}": float(np.mean([one[name] for one in found])) for name in found[0]}
    return {**means, f"used_{arm}": float(min(one["used"] for one in found))}


def _used(codes: Codes) -> float:
    """Latents in use, in units of an unused one's variance: an SlowVAE's is 0.013. Codes without
    noise have no such thing, and all count."""
    if not codes.stochastic:
        return float(codes.d)
    return float((codes.variance.mean(axis=0) < UNUSED * np.asarray(unused_units(codes))).sum())


def _codes(method: str, data: Dataset, seed: int, steps: int, folder: Path) -> Codes:
    preset, settings = METHODS[method](steps)
    net = {"name": "mlp", "encoder": [128, 128], "decoder": [128, 128]}
    rate = {"name": "cosine", "start": 2e-3, "stop": 0.0, "steps": steps}
    ours = {"net": net, "latent": len(HUES), "batch": 32, "steps": steps, "optimiser.lr": rate}
    spec = from_python(preset, data_settings(data), {**ours, **settings, "seed": seed})
    run = Run.of(spec, preset, folder / "runs")
    run.create(spec)
    for _ in train_run(run, spec, data, device=torch.device("cpu")):
        pass
    return encode(run, data)


def _falls(found: Mapping[str, Value], whole: bool) -> dict[str, Value]:
    """Original less perturbed and less noise, and by how much noise exceeds half of the former; of
    controls, by how much the perturbation costs more."""

    def number(name: str) -> float:
        value = found[name]
        assert isinstance(value, float)
        return value

    falls: dict[str, Value] = {}
    for metric in METRICS:
        before, after = number(f"{metric}_original"), number(f"{metric}_perturbed")
        noise = number(f"{metric}_noise")
        falls[f"fall_{metric}"] = before - after
        falls[f"noise_fall_{metric}"] = before - noise
        falls[f"noise_excess_{metric}"] = (before - noise) - 0.5 * (before - after)
        if whole:
            for control in CONTROLS:
                falls[f"beyond_{control}_{metric}"] = number(f"{metric}_{control}") - after
            # The same with noise in place of the perturbation: it has no purpose to be specific of.
            falls[f"noise_beyond_reversed_{metric}"] = number(f"{metric}_reversed") - noise
            long = number(f"{metric}_original-long") - number(f"{metric}_perturbed-long")
            falls[f"long_fall_{metric}"] = long
    pruned = min(number(f"used_{arm}") for arm in ("original", "perturbed", "noise")) < len(HUES)
    falls["entry"] = 0.0 if pruned else number("mig_original")
    return falls
