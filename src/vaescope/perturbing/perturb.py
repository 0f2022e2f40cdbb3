"""`vs.perturb`: a dataset with the same factors and another local structure."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vaescope.build import data_settings
from vaescope.data import Dataset
from vaescope.data.perturbed import packed
from vaescope.data.stores import Numbers
from vaescope.errors import UsageError
from vaescope.paths import disk_errors, replace_file
from vaescope.perturbing.network import (
    PerturbationNetwork,
    inputs_of,
    make_network,
    moved,
)
from vaescope.perturbing.pool import (
    Selection,
    loaded,
    measured,
    pool_experiments,
    select,
    train_pool,
)
from vaescope.perturbing.result import FILE, Perturbation
from vaescope.perturbing.settings import EPSILONS, Kind, PerturbSettings
from vaescope.perturbing.training import Adversaries, Trace, train_network
from vaescope.reading import parse_json, read_json
from vaescope.runs import strict_json
from vaescope.specs import digest
from vaescope.types import Single
from vaescope.user_data import as_dataset
from vaescope.vae import as_input

__all__ = ["default_epsilon", "perturb", "perturb_dataset"]

_SHOWN = 8  # images of the preview
_CPU = torch.device("cpu")


def perturb(
    data: Any,
    *,
    out: str | Path,
    epsilon: float | None = None,
    kind: Kind = "perturbed",
    pool: int = 16,
    ensemble: int = 1,
    least_contrast: float = 0.2,
    filtered: bool = True,
    steps: int = 1500,
    lr: float = 1e-3,
    hidden: int = 0,
    factor: str | None = None,
    rms: float | None = None,
    seed: int = 0,
    training: Mapping[str, Any] | None = None,
) -> Perturbation:
    """Images x' = x + epsilon m(w), w the factors: same factors, images within epsilon.

    m is trained so that an entangled beta-VAE reconstructs x' better than a disentangled one, both
    with frozen encoders that see x (zietlow2022 chapter 4). The same call resumes, or returns the
    finished result.

    Args:
        data: a dataset with factors, or its name.
        out: folder of the pool's runs, the dataset, its card and a page.
        epsilon: largest change of a pixel; by default zietlow2022's, 0.175 for Shapes3D, else 0.1.
        kind: `perturbed`, or a control of the same form: `reversed` (the objective's sign),
            `one-factor` (m sees `factor` alone), `relabelled` (levels in another order),
            `untrained` (m at initialisation, scaled to the RMS `rms`).
        pool: restarts of the beta-VAE, of which the `ensemble` worst and best by MIG are taken.
        least_contrast: smallest difference in MIG between these that is accepted.
        filtered: whether over-pruned models are left out; zietlow2022 does not mention this.
        steps, lr, hidden: steps and learning rate for training m, and width of its hidden layer.
        training: settings of the pool, e.g. {"steps": 9000, "objective.beta": 4.0}.
        ensemble: number of entangled models, and of disentangled ones.
        factor: the factor that m sees, for `one-factor`.
        rms: size of the change, for `untrained`.
        seed: seed of the pool and of m.

    Returns:
        `Perturbation`: the dataset, and how it was made.

    Raises:
        UsageError: data without factors, or a pool without contrast.

    Example:
        >>> import tempfile
        >>> import vaescope as vs
        >>> grid = {"shape": [1], "orientation": [0], "x": [0, 31], "y": [0, 31]}
        >>> data = vs.load_dataset("dsprites", size=32, grid=grid)
        >>> folder = tempfile.mkdtemp()
        >>> vs.perturb(data, out=folder, kind="untrained", rms=0.02).data.shape
        (1, 32, 32)
    """
    given = as_dataset(data)
    chosen = PerturbSettings(
        default_epsilon(given) if epsilon is None else epsilon, kind, pool, ensemble,
        least_contrast, filtered, steps, lr, hidden=hidden, factor=factor, rms=rms, seed=seed,
    )  # fmt: skip
    return perturb_dataset(given, chosen, Path(out), training or {})


def default_epsilon(data: Dataset) -> float:
    """zietlow2022's largest change of a pixel, 0.1 where it has none."""
    return next((value for name, value in EPSILONS.items() if data.name.startswith(name)), 0.1)


def perturb_dataset(
    data: Dataset,
    settings: PerturbSettings,
    folder: Path,
    training: Mapping[str, Any],
    *,
    stop: Callable[[], int] = lambda: 0,
    tell: Callable[[str], None] = lambda text: None,
    pool_folder: Path | None = None,
) -> Perturbation:
    """The same with settings that are checked, for those who watch or may stop it. Perturbations of
    one seed and pool may share its runs (`pool_folder`)."""
    runs = folder / "pool" if pool_folder is None else pool_folder
    _require(data)
    data = replace(data, store=Numbers(data.rows(np.arange(len(data)))))  # drawn once
    inputs = inputs_of(data, settings)
    experiments = pool_experiments(data, settings, training)
    trained = settings.kind != "untrained"
    facts = {"settings": settings.to_dict(), "data": dict(data_settings(data)),
             "pool": [digest(e) for e in experiments] if trained else []}  # fmt: skip
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    _claim(folder, facts)
    network = make_network(inputs.shape[1], data.shape, settings)
    selection, trace = None, Trace()
    if trained:
        for told in train_pool(experiments, data, runs, stop):
            tell(told)
        tell("selection")
        models = [measured(experiment, data, runs) for experiment in experiments]
        selection = select(models, len(data.require_factors("perturb").names), settings)
        replace_file(
            folder / "selection.json", (strict_json(selection.to_dict(), indent=1) + "\n").encode()
        )
        _train(data, inputs, settings, network, selection, experiments, runs, folder, key, stop,
               tell, trace)  # fmt: skip
    changes = _changes(network, inputs)
    images = _images(data, changes, settings)
    return _written(data, images, settings, selection, trace, folder)


def _train(
    data: Dataset, inputs: Single, settings: PerturbSettings,
    network: PerturbationNetwork, selection: Selection, experiments: list[Any], runs: Path,
    folder: Path, key: str, stop: Callable[[], int], tell: Callable[[str], None], trace: Trace,
) -> None:  # fmt: skip
    x = as_input(data.rows(np.arange(len(data))), _CPU)
    adversaries = Adversaries.of(
        [loaded(model, experiments, runs) for model in selection.entangled],
        [loaded(model, experiments, runs) for model in selection.disentangled], x,
    )  # fmt: skip
    for step in train_network(
        network, adversaries, data, inputs, settings, state=folder / "state.safetensors", key=key,
        stop=stop, trace=trace,
    ):  # fmt: skip
        if step % 100 == 0:
            tell(f"perturbation: step {step} of {settings.steps}")


def _require(data: Dataset) -> None:
    if data.factors is None:
        raise UsageError(
            f"{data.name} has no factors, but the perturbation is a function of factors: m(w) "
            "gives one image of changes for each combination.",
            "Use a dataset with factors, e.g. shapes3d-rendered; data.pixel_noise needs none.",
        )
    varied = [name for name, size in zip(data.factors.names, data.factors.sizes, strict=True)
              if size > 1]  # fmt: skip
    if len(varied) < 2:
        raise UsageError(
            f"perturb needs two factors that vary, because it chooses models by MIG; {data.name} "
            "has "
            f"{len(varied)} ({', '.join(varied) or 'none'}).",
            "Use a dataset with more factors, e.g. shapes3d-rendered.",
        )
    low, high = data.store.range
    if len(data.shape) != 3 or not 0.0 <= low <= high <= 1.0:
        raise UsageError(
            f"perturb needs images in [0, 1]; {data.name} has rows of shape {data.shape} from "
            f"{low:g} to {high:g}.",
            "Use a dataset of images.",
        )


def _claim(folder: Path, facts: Mapping[str, Any]) -> None:
    """Refuses a folder that was begun with other data or settings."""
    path = folder / "settings.json"
    wanted = parse_json(strict_json(facts))
    if path.exists():
        try:
            begun = read_json(path)
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} cannot be read: {error}.", "Choose another --out.") from error
        if begun != wanted:
            raise UsageError(
                f"{folder} holds a perturbation of other data or with other settings.",
                "Run that perturbation's own command to resume it, or choose another --out.",
            )
        return
    replace_file(path, (strict_json(wanted, indent=1) + "\n").encode())


@torch.no_grad()
def _changes(network: PerturbationNetwork, inputs: Single) -> torch.Tensor:
    w = torch.from_numpy(inputs)
    return torch.cat([network(w[start : start + 1024]) for start in range(0, len(w), 1024)])


@torch.no_grad()
def _images(data: Dataset, changes: torch.Tensor, settings: PerturbSettings) -> torch.Tensor:
    """All images; of an untrained network brought to the size asked for."""
    x = torch.from_numpy(data.rows(np.arange(len(data))))
    if settings.rms is None:
        return moved(x, changes, settings.epsilon)

    def at(log_scale: float) -> tuple[torch.Tensor, float]:
        images = moved(x, (changes * float(np.exp(log_scale))).clamp(-1.0, 1.0), settings.epsilon)
        return images, float(((images - x).double() ** 2).mean().sqrt())

    low, high = -20.0, 20.0
    if at(high)[1] < settings.rms:
        raise UsageError(
            f"The untrained network reaches an RMS of {at(high)[1]:.4f} at epsilon "
            f"{settings.epsilon:g}; wanted {settings.rms:g}.",
            "Use a smaller RMS, or another seed.",
        )
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if at(middle)[1] < settings.rms else (low, middle)
    return at(high)[0]


def _written(
    data: Dataset, images: torch.Tensor, settings: PerturbSettings, selection: Selection | None,
    trace: Trace, folder: Path,
) -> Perturbation:  # fmt: skip
    after = np.ascontiguousarray(images.numpy(), dtype=np.float32)
    before = data.rows(np.arange(len(data)))
    change = after.astype(np.float64) - before
    largest, rms = float(np.abs(change).max()), float(np.sqrt((change**2).mean()))
    assert largest <= settings.epsilon and after.min() >= 0.0 and after.max() <= 1.0
    shown = np.unique(np.linspace(0, len(data) - 1, _SHOWN + 2).astype(np.int64)[1:-1])
    found = Perturbation(
        folder, data.name, settings, selection, largest, rms, len(data), before[shown],
        after[shown], tuple(trace.rows),
    )  # fmt: skip
    facts = found.to_dict()
    del facts["path"], facts["page"]  # files are the same wherever they lie
    replace_file(folder / FILE, packed(data, after, facts))
    replace_file(folder / "card.json", (strict_json(facts, indent=1) + "\n").encode())
    found.save_preview()
    return found
