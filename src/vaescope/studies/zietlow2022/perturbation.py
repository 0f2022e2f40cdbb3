"""What the studies of zietlow2022 chapter 4 share: data, methods, arms, and what is measured.

A unit is a replicate: it has a pool, a perturbation, noise and controls of its own, and fresh
seeds of each method. A cell is one method of one replicate; the cells of a replicate share its
perturbations, which are kept below the folder of runs by what they were made with.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vaescope.build import data_settings
from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.data.files import alone
from vaescope.errors import UsageError
from vaescope.latents.unused import unused_units
from vaescope.metrics.dci import dci
from vaescope.metrics.factor_vae import factor_vae
from vaescope.metrics.mig import mig
from vaescope.metrics.sap import sap
from vaescope.opening import encode
from vaescope.paths import runs_folder
from vaescope.perturbing.perturb import default_epsilon, perturb_dataset
from vaescope.perturbing.settings import PerturbSettings
from vaescope.runs import Run
from vaescope.settings import from_python
from vaescope.studies.study import Cell, Computed, Measured, Scale
from vaescope.tables import Value
from vaescope.training.group import train_alike
from vaescope.types import Single
from vaescope.user_data import load_dataset

__all__ = [
    "COMPARED",
    "HUES",
    "MAIN",
    "METHODS",
    "METRICS",
    "PAIRED",
    "SLOW",
    "arms_of",
    "codes_of",
    "compute",
    "fall_of",
    "falls_of",
    "folder_of",
    "images_of",
    "measured",
    "original",
    "replicates_of",
    "scores_of",
    "seeds_of",
    "sizes_of",
    "work_of",
]

HUES = ("floor_hue", "wall_hue", "object_hue")
METRICS = ("mig", "dci", "factor_vae", "sap")
#: A latent whose mean variance is above this share of an unused one's is not in use.
UNUSED = 0.8

#: Per scale: what all cells of a replicate share; `m_` are steps, batch and learning rate of m.
_SIZES: Mapping[Scale, Mapping[str, Any]] = {
    "smoke": {"hues": 8, "width": 64, "pool": 2, "steps": 12, "batch": 16, "contrast": 0.0,
              "m_steps": 3, "m_batch": 16, "m_rate": 3e-3},
    "laptop": {"hues": 10, "width": 64, "pool": 6, "steps": 6000, "batch": 16, "contrast": 0.2,
               "m_steps": 600, "m_batch": 16, "m_rate": 3e-3},
    "paper": {"hues": 10, "width": 128, "pool": 50, "steps": 90_000, "batch": 64, "contrast": 0.2,
              "m_steps": 15_000, "m_batch": 64, "m_rate": 1e-4},
}  # fmt: skip
#: Seeds of a method at laptop scale: by what they cost.
_SEEDS: Mapping[str, int] = {
    "beta-vae": 6, "beta-tcvae": 4, "slow-vae": 4, "ae": 4, "weak-gan": 1,
}  # fmt: skip
#: Steps at laptop scale of methods that converge sooner, and of those whose steps are slow.
_STEPS: Mapping[str, int] = {"pcl": 2000, "factor-vae": 3000, "weak-gan": 1500}


def _strength(steps: int, value: float) -> dict[str, Any]:
    return {"name": "linear", "start": 0.0, "stop": value, "steps": max(steps // 9, 1)}


#: Method -> its preset and settings, by the number of steps and a factor of its strength. All that
#: weighs codes grows from 0: with a whole rate from the first step models lose latents at any
#: strength.
METHODS: Mapping[str, Any] = {
    "beta-vae": lambda steps, factor: (
        "beta-vae", {"objective.beta": _strength(steps, factor * 3.0)}),
    "pcl": lambda steps, factor: ("pcl", {}),
    "beta-tcvae": lambda steps, factor: ("beta-tcvae", {
        "objective.beta": _strength(steps, factor * 3.0), "objective.rate": _strength(steps, 1.0)}),
    "ae": lambda steps, factor: ("ae", {}),
    # 6 x 1000, as Kim and Mnih have it, makes a step four times as slow: 19 ms in place of 5.
    "factor-vae": lambda steps, factor: ("factor-vae", {
        "objective.gamma": _strength(steps, factor * 7.0), "objective.rate": _strength(steps, 1.0),
        "objective.critic_width": 128, "objective.critic_layers": 3, "objective.critic_lr": 1e-3}),
    # Both weights, 1 to 10 as released.
    "slow-vae": lambda steps, factor: ("slow-vae", {
        "objective.beta": _strength(steps, factor * 0.25),
        "objective.gamma": _strength(steps, factor * 2.5)}),
    # At the others' rate and batch it does not hold its discriminator's balance.
    "weak-gan": lambda steps, factor: ("weak-gan", {
        "objective.width": 128, "optimiser.lr": 1e-3, "batch": 64}),
}  # fmt: skip
#: What the primary claims are about, methods that are compared with it, SlowVAE beside the
#: autoencoder, and those that take hours.
MAIN, COMPARED = ("beta-vae",), ("beta-vae", "pcl", "beta-tcvae")
PAIRED = ("slow-vae", "ae")
SLOW = tuple(method for method in METHODS if method not in (*COMPARED, *PAIRED))


def replicates_of(scale: Scale, units: Any) -> Sequence[int]:
    return range({"smoke": 1, "laptop": 16, "paper": 16}[scale]) if units is None else units


def sizes_of(scale: Scale, method: str) -> dict[str, Any]:
    """Settings of a cell."""
    seeds = {"smoke": 1, "laptop": _SEEDS.get(method, 2), "paper": 10}
    own = {"own_steps": _STEPS[method]} if scale == "laptop" and method in _STEPS else {}
    return {**_SIZES[scale], "seeds": seeds[scale], **own}


def work_of(methods: Sequence[str], scale: Scale, units: Any = None) -> Computed:
    """Cells by method, then by replicate: neighbours do not wait for the same perturbation."""
    cells = tuple(
        Cell(sizes_of(scale, method), {"seed": replicate, "method": method})
        for method in methods
        for replicate in replicates_of(scale, units)
    )
    return Computed("zietlow2022-perturbation", cells, compute)


def original(hues: int, **noise: Any) -> Dataset:
    """Arcs of three hues at 16 pixels: factors that a beta-VAE finds."""
    return load_dataset(
        "shapes3d-rendered", size=16, grid={"scale": [4], "shape": [0], "orientation": [7]},
        arcs={name: [0, 4, hues] for name in HUES}, **noise,
    )  # fmt: skip


def images_of(columns: Mapping[str, Any]) -> Dataset:
    """The dataset of a cell: arcs of hues, or sprites of one shape in six scales and 176 places."""
    if columns.get("images") != "dsprites":
        return original(columns["hues"])
    grid = {"shape": [1], "orientation": [0], "x": list(range(0, 32, 2)), "y": list(range(11, 22))}
    return load_dataset("dsprites", size=16, grid=grid)


def _noisy(data: Dataset, seed: int) -> Dataset:
    """The same images under noise of the perturbation's epsilon."""
    plain = dict(data_settings(data))
    noise = {"pixel_noise": default_epsilon(data), "noise_seed": seed}
    return load_dataset(plain.pop("name"), **plain, **noise)


def folder_of(columns: Mapping[str, Any]) -> Path:
    """Where a replicate keeps its perturbations and runs, whatever study asks for them."""
    parts = (*_SIZES["smoke"], "images", "pool_factor")
    shared = {k: columns[k] for k in parts if k in columns}
    content = json.dumps([shared, int(columns["seed"])], sort_keys=True)
    folder = runs_folder() / "perturbations" / hashlib.sha256(content.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def compute(columns: Mapping[str, Any]) -> Measured:
    """One method on the original, perturbed and noisy data of a replicate."""
    method, folder = str(columns["method"]), folder_of(columns)
    data = images_of(columns)
    try:
        arms, found = arms_of(data, columns, folder)
    except UsageError as error:  # a pool without contrast makes no perturbation, and no number
        return {"refused": error.message}
    for arm, rows in arms.items():
        steps = int(columns.get("own_steps", columns["steps"]))
        found |= scores_of(arm, method, rows, columns, steps, folder)
    found |= falls_of(found)
    if method != "beta-vae":
        return found
    return {**found, "examples": _examples(data, arms["perturbed"])}


def _examples(before: Dataset, after: Dataset) -> Single:
    """Four images in columns: as they were, by how much they changed, magnified, and as they are;
    no change is grey."""
    rows = np.linspace(0, len(before) - 1, 4).astype(np.int64)
    old, new = before.rows(rows), after.rows(rows)
    change = 0.5 + 0.5 * (new - old) / default_epsilon(before)
    strips = [np.concatenate(list(images.transpose(0, 2, 3, 1)), axis=1)
              for images in (old, change, new)]  # fmt: skip
    return np.concatenate(strips).clip(0.0, 1.0)


def arms_of(
    data: Dataset, columns: Mapping[str, Any], folder: Path, controls: Sequence[str] = ()
) -> tuple[dict[str, Dataset], dict[str, Value]]:
    """The datasets of a replicate, made once for all cells, and the RMS of what was changed."""
    replicate = int(columns["seed"])
    plain: dict[str, Any] = {
        "epsilon": default_epsilon(data), "pool": columns["pool"],
        "least_contrast": columns["contrast"], "filtered": columns["contrast"] > 0.0,
        "steps": columns["m_steps"], "lr": columns["m_rate"], "batch": columns["m_batch"],
        "seed": replicate,
    }  # fmt: skip
    _, strength = METHODS["beta-vae"](columns["steps"], float(columns.get("pool_factor", 1.0)))
    training = {**_ours(data, columns, columns["steps"]), **strength}
    noise = _noisy(data, replicate)
    arms = {"original": data, "noise": noise}
    sizes = {"rms_original": 0.0, "rms_noise": _rms(data, noise)}
    for kind in ("perturbed", *controls):
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
        arms[kind] = made.data
        sizes[f"rms_{kind}"] = made.rms
    return arms, dict(sizes)


def _rms(before: Dataset, after: Dataset) -> float:
    """Of the change of a pixel."""
    every = np.arange(len(before))
    change = after.rows(every).astype(np.float64) - before.rows(every)
    return float(np.sqrt((change**2).mean()))


def scores_of(
    arm: str, method: str, data: Dataset, columns: Mapping[str, Any], steps: int, folder: Path
) -> dict[str, Value]:
    """Means over the seeds of a method on one dataset, how many of them are over-pruned, the least
    and the largest MIG, and the mean MIG without over-pruned models (`kept`) or with 0 for each of
    them (`whole`)."""
    seeds = seeds_of(columns, int(columns["seeds"]))
    settings = METHODS[method](steps, float(columns.get("factor", 1.0)))
    found = [measured(codes) for codes in codes_of(settings, data, seeds, steps, columns, folder)]
    wanted = len(_varied(data))
    means = {f"{name}_{arm}": float(np.mean([one[name] for one in found])) for name in found[0]}
    each, whole = [one["mig"] for one in found], [one["used"] >= wanted for one in found]
    kept = [value for value, used in zip(each, whole, strict=True) if used]
    return {
        **means, f"pruned_{arm}": float(len(each) - len(kept)), f"least_{arm}": min(each),
        f"largest_{arm}": max(each), f"kept_{arm}": float(np.mean(kept)) if kept else None,
        f"whole_{arm}": sum(kept) / len(each),
    }  # fmt: skip


def measured(codes: Codes) -> dict[str, float]:
    """The four metrics, the gap of each factor, and how many latents are in use."""
    gap = mig(codes)
    gaps = zip(codes.factor_names, gap.details["gaps"], strict=True)
    return {
        "mig": gap.value, "dci": dci(codes).disentanglement.value,
        "factor_vae": factor_vae(codes, resamples=0).value, "sap": sap(codes).value,
        **{f"gap_{name}": float(value) for name, value in gaps}, "used": _used(codes),
    }  # fmt: skip


def _used(codes: Codes) -> float:
    """Latents in use, in units of an unused one's variance: an SlowVAE's is 0.013. Codes without
    noise have no such thing, and all count."""
    if not codes.stochastic:
        return float(codes.d)
    return float((codes.variance.mean(axis=0) < UNUSED * np.asarray(unused_units(codes))).sum())


def _varied(data: Dataset) -> list[str]:
    """Factors of more than one value: as many latents have all models."""
    factors = data.require_factors("chapter 4")
    return [name for name, size in zip(factors.names, factors.sizes, strict=True) if size > 1]


def _ours(data: Dataset, columns: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """What all methods share."""
    width = [columns["width"]] * 2
    rate = {"name": "cosine", "start": 4e-3, "stop": 0.0, "steps": steps}
    return {"net": {"name": "mlp", "encoder": width, "decoder": width},
            "latent": len(_varied(data)), "batch": columns["batch"], "steps": steps,
            "optimiser.lr": rate}  # fmt: skip


def seeds_of(columns: Mapping[str, Any], count: int) -> range:
    """Seeds of fresh models, none of which is in a pool."""
    first = 1000 * int(columns["seed"]) + 900
    return range(first, first + count)


def codes_of(
    method: tuple[str, Mapping[str, Any]], data: Dataset, seeds: Sequence[int], steps: int,
    columns: Mapping[str, Any], folder: Path,
) -> list[Codes]:  # fmt: skip
    """Of fresh models, trained together where that pays."""
    preset, settings = method
    ours = {**_ours(data, columns, steps), **settings}
    specs = [from_python(preset, data_settings(data), {**ours, "seed": seed}) for seed in seeds]
    runs = [Run.of(spec, preset, folder / "runs") for spec in specs]
    for run, spec in zip(runs, specs, strict=True):
        run.create(spec)
    for _ in train_alike(runs, specs, data):
        pass
    return [encode(run, data) for run in runs]


def falls_of(found: Mapping[str, Value]) -> dict[str, Value]:
    """Original less perturbed and less noise, and by how much noise exceeds half of the former; the
    least fall over factors; and MIG on the original, where an over-pruned model counts 0."""
    falls: dict[str, Value] = {}
    for metric in METRICS:
        fall, noise = fall_of(found, metric, "perturbed"), fall_of(found, metric, "noise")
        falls[f"fall_{metric}"], falls[f"noise_fall_{metric}"] = fall, noise
        falls[f"noise_excess_{metric}"] = noise - 0.5 * fall
    gaps = [name.removesuffix("_original") for name in found
            if name.startswith("gap_") and name.endswith("_original")]  # fmt: skip
    for arm in ("perturbed", "noise"):
        falls[f"least_gap_fall_{arm}"] = min(fall_of(found, gap, arm) for gap in gaps)
    falls["entry"] = found["whole_original"]
    return falls


def fall_of(found: Mapping[str, Value], metric: str, arm: str) -> float:
    """By how much a score is lower there than on the original."""
    before, after = found[f"{metric}_original"], found[f"{metric}_{arm}"]
    assert isinstance(before, float) and isinstance(after, float)
    return before - after
