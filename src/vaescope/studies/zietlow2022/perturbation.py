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
from numpy.typing import NDArray
from scipy import stats

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
from vaescope.training.group import train_alike
from vaescope.user_data import load_dataset

__all__ = [
    "AFFORDABLE",
    "CONTROLS",
    "HUES",
    "METHODS",
    "METRICS",
    "SLOW",
    "arms_of",
    "codes_of",
    "compute",
    "folder_of",
    "measured",
    "original",
    "replicates_of",
    "seeds_of",
    "sizes_of",
    "work",
    "work_of",
]

EPSILON = 0.175
HUES = ("floor_hue", "wall_hue", "object_hue")
METRICS = ("mig", "dci", "factor_vae", "sap")
#: Perturbations that share the form of m and not its purpose; for the beta-VAE only.
CONTROLS = ("reversed", "one-factor", "relabelled", "untrained")
#: Arms of the beta-VAE of which the tables claim nothing, with fewer seeds.
_MINOR = ("relabelled", "untrained", "noise-variance", "original-long", "perturbed-long")
#: A latent whose mean variance is above this share of an unused one's is not in use.
UNUSED = 0.8

#: Per scale: what all cells of a replicate share.
_SIZES: Mapping[Scale, Mapping[str, Any]] = {
    "smoke": {"hues": 8, "pool": 2, "steps": 12, "batch": 16, "m_steps": 3, "contrast": 0.0},
    "laptop": {"hues": 10, "pool": 8, "steps": 6000, "batch": 16, "m_steps": 600, "contrast": 0.2},
    "paper": {"hues": 10, "pool": 50, "steps": 90_000, "batch": 64, "m_steps": 15_000,
              "contrast": 0.2},
}  # fmt: skip
#: Seeds of a method, and those of its minor arms, at laptop scale: by what they cost.
_SEEDS: Mapping[str, tuple[int, int]] = {"beta-vae": (6, 2), "beta-tcvae": (4, 0)}
_OTHER_SEEDS = (2, 0)


def _strength(steps: int, value: float) -> dict[str, Any]:
    return {"name": "linear", "start": 0.0, "stop": value, "steps": max(steps // 9, 1)}


#: Method -> its preset and settings, by the number of steps and a factor of its strength.
METHODS: Mapping[str, Any] = {
    "beta-vae": lambda steps, factor: (
        "beta-vae", {"objective.beta": _strength(steps, factor * 4.0)}),
    "pcl": lambda steps, factor: ("pcl", {}),
    "beta-tcvae": lambda steps, factor: (
        "beta-tcvae", {"objective.beta": _strength(steps, factor * 4.0)}),
    "ae": lambda steps, factor: ("ae", {}),
    # 6 x 1000, as Kim and Mnih have it, would make a step thirty times slower.
    "factor-vae": lambda steps, factor: ("factor-vae", {
        "objective.gamma": _strength(steps, factor * 7.0), "objective.critic_width": 128,
        "objective.critic_layers": 3, "objective.critic_lr": 1e-3}),
    "slow-vae": lambda steps, factor: ("slow-vae", {"objective.beta": factor}),
    "weak-gan": lambda steps, factor: ("weak-gan", {"objective.width": 128}),
}  # fmt: skip
#: Those that a laptop can train for all replicates; the others are prepared.
AFFORDABLE = ("beta-vae", "pcl", "beta-tcvae")
SLOW = tuple(method for method in METHODS if method not in AFFORDABLE)


def replicates_of(scale: Scale, units: Any) -> Sequence[int]:
    return range({"smoke": 1, "laptop": 16, "paper": 16}[scale]) if units is None else units


def sizes_of(scale: Scale) -> dict[str, Any]:
    """What all cells of a replicate share."""
    return {**_SIZES[scale], "width": 64}


def work_of(methods: Sequence[str], scale: Scale, units: Any = None) -> Computed:
    """Cells by method, then by replicate: neighbours do not wait for the same perturbation."""
    seeds = {"smoke": (1, 1), "paper": (10, 10)}
    cells = tuple(
        Cell(sizes_of(scale)
             | dict(zip(("seeds", "minor_seeds"),
                        seeds.get(scale, _SEEDS.get(method, _OTHER_SEEDS)), strict=True)),
             {"seed": replicate, "method": method})
        for method in methods
        for replicate in replicates_of(scale, units)
    )  # fmt: skip
    return Computed("zietlow2022-perturbation", cells, compute)


def work(scale: Scale, units: Any = None) -> Computed:
    """Of the methods that a laptop can train."""
    return work_of(AFFORDABLE, scale, units)


def original(hues: int, **noise: Any) -> Dataset:
    """Arcs of three hues at 16 pixels: factors that a beta-VAE finds."""
    return load_dataset(
        "shapes3d-rendered", size=16, grid={"scale": [4], "shape": [0], "orientation": [7]},
        arcs={name: [0, 4, hues] for name in HUES}, **noise,
    )  # fmt: skip


def folder_of(columns: Mapping[str, Any]) -> Path:
    """Where a replicate keeps its perturbations and runs, whatever study asks for them."""
    shared = {k: columns[k] for k in (*_SIZES["smoke"], "width")}
    content = json.dumps([shared, int(columns["seed"])], sort_keys=True)
    folder = runs_folder() / "perturbations" / hashlib.sha256(content.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def compute(columns: Mapping[str, Any]) -> Measured:
    """All arms of one method in one replicate."""
    method, folder = str(columns["method"]), folder_of(columns)
    data = original(columns["hues"])
    whole = method == "beta-vae"
    try:
        arms, found = arms_of(data, columns, folder, whole=whole)
    except UsageError as error:  # a pool without contrast makes no perturbation, and no number
        return {"refused": error.message}
    steps = dict.fromkeys(arms, columns["steps"])
    if whole:  # part of a fall may be slowness
        for arm in ("original", "perturbed"):
            arms[f"{arm}-long"], steps[f"{arm}-long"] = arms[arm], 2 * columns["steps"]
    before = data.rows(np.arange(len(data)))
    for arm, rows in arms.items():
        seeds = columns["minor_seeds" if arm in _MINOR else "seeds"]
        found |= _scores(arm, method, rows, columns, steps[arm], seeds, folder)
        if whole:
            assert rows.factors is not None
            change = rows.rows(np.arange(len(rows))).astype(np.float64) - before
            found[f"rms_{arm}"] = float(np.sqrt((change**2).mean()))
            bias = data_bias(rows.rows, rows.factors.classes(np.arange(len(rows))))
            found[f"angle_{arm}"] = float(bias.value) if bias.defined else None
    found |= _falls(found, [arm for arm in arms if steps[arm] == columns["steps"]], whole)
    return {**found, "examples": _examples(data, arms["perturbed"])} if whole else found


def _examples(before: Dataset, after: Dataset) -> NDArray[np.float32]:
    """Four images in columns: as they were, by how much they changed, magnified, and as they are;
    no change is grey."""
    rows = np.linspace(0, len(before) - 1, 4).astype(np.int64)
    old, new = before.rows(rows), after.rows(rows)
    change = 0.5 + 0.5 * (new - old) / EPSILON
    strips = [np.concatenate(list(images.transpose(0, 2, 3, 1)), axis=1)
              for images in (old, change, new)]  # fmt: skip
    return np.concatenate(strips).clip(0.0, 1.0)


def arms_of(
    data: Dataset, columns: Mapping[str, Any], folder: Path, *, whole: bool
) -> tuple[dict[str, Dataset], dict[str, Value]]:
    """The datasets of a replicate, and the sizes of what was changed in them."""
    replicate = int(columns["seed"])
    files, sizes = _perturbations(data, columns, replicate, folder, whole)
    noise = original(columns["hues"], pixel_noise=EPSILON, noise_seed=replicate)
    arms = {"original": data, "noise": noise, **files}
    if whole:
        arms["noise-variance"] = original(
            columns["hues"], pixel_noise=sizes["rms_perturbed"], noise_match="variance",
            noise_seed=replicate,
        )  # fmt: skip
    return arms, sizes


def _perturbations(
    data: Dataset, columns: Mapping[str, Any], replicate: int, folder: Path, whole: bool
) -> tuple[dict[str, Dataset], dict[str, Value]]:
    """The perturbed data and, where asked for, its controls; made once for all cells."""
    plain: dict[str, Any] = {
        "epsilon": EPSILON, "pool": columns["pool"], "least_contrast": columns["contrast"],
        "filtered": columns["contrast"] > 0.0, "steps": columns["m_steps"], "seed": replicate,
    }  # fmt: skip
    _, strength = METHODS["beta-vae"](columns["steps"], 1.0)
    training = {**_ours(columns, columns["steps"]), **strength}
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
    arm: str, method: str, data: Dataset, columns: Mapping[str, Any], steps: int, seeds: int,
    folder: Path,
) -> dict[str, Value]:  # fmt: skip
    """Means over the seeds of a method; latents in use are the fewest. MIG of each seed beside."""
    found: list[dict[str, float]] = []
    settings = METHODS[method](steps, 1.0)
    for codes in codes_of(settings, data, seeds_of(columns, seeds), steps, columns, folder):
        found.append(measured(codes))
    means = {f"{name}_{arm}": float(np.mean([one[name] for one in found])) for name in found[0]}
    return {**means, f"used_{arm}": float(min(one["used"] for one in found)),
            f"least_mig_{arm}": float(min(one["mig"] for one in found)),
            f"largest_mig_{arm}": float(max(one["mig"] for one in found))}  # fmt: skip


def measured(codes: Codes) -> dict[str, float]:
    """The four metrics, the gap of each factor, and how many latents are in use."""
    gap = mig(codes)
    gaps = zip(HUES, gap.details["gaps"], strict=True)
    return {
        "mig": gap.value, "dci": dci(codes).disentanglement.value,
        "factor_vae": factor_vae(codes, resamples=0).value, "sap": sap(codes).value,
        **{f"gap_{hue}": float(value) for hue, value in gaps}, "used": _used(codes),
    }  # fmt: skip


def _used(codes: Codes) -> float:
    """Latents in use, in units of an unused one's variance: an SlowVAE's is 0.013. Codes without
    noise have no such thing, and all count."""
    if not codes.stochastic:
        return float(codes.d)
    return float((codes.variance.mean(axis=0) < UNUSED * np.asarray(unused_units(codes))).sum())


def _ours(columns: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """What all methods share."""
    width = [columns["width"]] * 2
    rate = {"name": "cosine", "start": 2e-3, "stop": 0.0, "steps": steps}
    return {"net": {"name": "mlp", "encoder": width, "decoder": width}, "latent": len(HUES),
            "batch": columns["batch"], "steps": steps, "optimiser.lr": rate}  # fmt: skip


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
    ours = {**_ours(columns, steps), **settings}
    specs = [from_python(preset, data_settings(data), {**ours, "seed": seed}) for seed in seeds]
    runs = [Run.of(spec, preset, folder / "runs") for spec in specs]
    for run, spec in zip(runs, specs, strict=True):
        run.create(spec)
    for _ in train_alike(runs, specs, data):
        pass
    return [encode(run, data) for run in runs]


def _falls(found: Mapping[str, Value], arms: Sequence[str], whole: bool) -> dict[str, Value]:
    """Original less perturbed and less noise, and by how much noise exceeds half of the former; of
    controls, by how much the perturbation costs more, and how arms are ranked by their angle and by
    the size of what was changed."""

    def number(name: str) -> float:
        value = found[name]
        assert isinstance(value, float)
        return value

    def fall(metric: str, arm: str) -> float:
        return number(f"{metric}_original") - number(f"{metric}_{arm}")

    falls: dict[str, Value] = {}
    for metric in METRICS:
        falls[f"fall_{metric}"] = fall(metric, "perturbed")
        falls[f"noise_fall_{metric}"] = fall(metric, "noise")
        falls[f"noise_excess_{metric}"] = fall(metric, "noise") - 0.5 * fall(metric, "perturbed")
        if whole:
            for control in CONTROLS:
                falls[f"beyond_{control}_{metric}"] = fall(metric, "perturbed") - fall(
                    metric, control
                )
            # The same with noise in place of the perturbation: it has no purpose to be specific of.
            falls[f"noise_beyond_reversed_{metric}"] = fall(metric, "noise") - fall(
                metric, "reversed"
            )
            long = number(f"{metric}_original-long") - number(f"{metric}_perturbed-long")
            falls[f"long_fall_{metric}"] = long
    for arm in ("perturbed", "noise"):
        falls[f"least_gap_fall_{arm}"] = min(fall(f"gap_{hue}", arm) for hue in HUES)
    pruned = min(number(f"used_{arm}") for arm in ("original", "perturbed", "noise")) < len(HUES)
    falls["entry"] = 0.0 if pruned else number("mig_original")
    if whole:
        losses = [fall("mig", arm) for arm in arms]
        for cause in ("angle", "rms"):
            sizes = [found[f"{cause}_{arm}"] for arm in arms]
            known = [(a, b) for a, b in zip(sizes, losses, strict=True) if a is not None]
            falls[f"rank_of_{cause}"] = _rank_correlation(known)
    return falls


def _rank_correlation(pairs: Sequence[tuple[Any, float]]) -> float | None:
    if len(pairs) < 3:
        return None
    first, second = np.array(pairs, dtype=np.float64).T
    return float(stats.spearmanr(first, second).statistic) if np.ptp(first) > 0.0 else None
