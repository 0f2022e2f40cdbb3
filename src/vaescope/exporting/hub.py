"""Runs in the layout of the Hugging Face hub: config.json, model.safetensors and a model card.

Nothing in such a folder is executed, and nothing is fetched: a folder is a run in other words.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vaescope.build import data_of
from vaescope.encoding import load_vae
from vaescope.errors import RunError, UsageError
from vaescope.exporting.card import model_card
from vaescope.inspection import Inspection, inspect
from vaescope.notebook_card import card_of
from vaescope.paths import disk_errors, replace_file
from vaescope.reading import read_regular
from vaescope.runs import Run, strict_json
from vaescope.sealing import seal_document, sha256_of
from vaescope.specs import FORMAT, Experiment, digest, public, resolve, to_dict
from vaescope.training.checkpoint import weights_bytes
from vaescope.user_data import as_dataset

__all__ = ["Published", "load_pretrained", "publish", "save_pretrained"]


@dataclass(frozen=True)
class Published:
    """A folder that can be uploaded as it is, and what it holds."""

    folder: Path
    files: tuple[str, ...]
    digest: str  # of the experiment
    weights_sha256: str
    verdicts: int  # on the model card
    metrics: int

    @property
    def run(self) -> Run:
        return Run(self.folder)

    def summary(self) -> str:
        """One line."""
        return (
            f"{self.folder}: {', '.join(self.files)}; the card has {self.verdicts} verdicts and "
            f"{self.metrics} metrics."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "files": list(self.files),
            "digest": self.digest,
            "weights_sha256": self.weights_sha256,
            "verdicts": self.verdicts,
            "metrics": self.metrics,
        }

    _repr_html_ = card_of


def save_pretrained(
    run: Run | str | Path,
    folder: str | Path,
    data: Any = None,
    *,
    inspection: Inspection | None = None,
    licence: str = "unknown",
) -> Published:
    """Writes a finished run to `folder` in the Hugging Face layout, with a model card.

    Args:
        run: a run or its folder.
        folder: where files are written.
        data: the run's data, needed only if it was trained on your own arrays.
        inspection: an inspection whose verdicts and metrics the model card shows; None makes a fast
            one.
        licence: the model's licence by the hub's identifier, e.g. "apache-2.0".

    Returns:
        `Published`: A folder that can be uploaded as it is, and what it holds.

    Raises:
        BusyError: another process works on the same run.
        DataError: a file is missing or damaged.
        DiskError: a folder cannot be written.
        RangeError: a value is out of range.
        RunError: a folder is not a run, or the run does not fit.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import tempfile
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> folder = tempfile.mkdtemp()
        >>> run = vs.train("vae", x, latent=2, steps=5, net={"name": "linear"}, out=folder)
        >>> vs.save_pretrained(run, f"{folder}/hub", x).folder.name
        'hub'
    """
    run = _run(run)
    spec = resolve(run.open())
    if inspection is None:
        rows = data_of(spec, None if data is None else as_dataset(data))
        inspection = inspect(run, rows, effort="fast", images=False)
    elif inspection.settings is None or inspection.settings.spec != to_dict(run.open()):
        raise UsageError(
            f"These results describe {inspection.subject.name}, not {run.path.name}.",
            "Pass the result of vs.inspect(run), or leave out inspection=.",
        )
    card = model_card(inspection, public(spec), name=_name(run), licence=licence)
    return publish(run, Path(folder), card.text, verdicts=card.verdicts, metrics=card.metrics)


def publish(run: Run, folder: Path, card: str, *, verdicts: int = 0, metrics: int = 0) -> Published:
    """The files of a finished run and its card, config.json last: it makes the folder a run."""
    spec = resolve(run.open())
    weights = weights_bytes(load_vae(run))
    out = Run(folder)
    _refuse(out, spec)
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    own, sha256 = digest(spec), sha256_of(weights)
    config: dict[str, Any] = {
        "library": "vaescope",
        "format": FORMAT,
        "name": _name(run),
        "digest": own,
        "weights_sha256": sha256,
        "experiment": to_dict(public(spec)),
    }
    files = {out.model: weights, out.card: card.encode()}
    # Of the training, where there was one: what inspecting it again needs.
    beside = ((run.environment, out.environment), (run.history, out.history))
    files |= {new: read_regular(old) for old, new in beside if old.is_file()}
    config["files"] = {path.name: sha256_of(content) for path, content in files.items()}
    sealed = seal_document(json.loads(strict_json(config)))
    files[out.config] = (strict_json(sealed, indent=1) + "\n").encode()
    for path, content in files.items():
        replace_file(path, content)
    names = tuple(path.name for path in files)
    return Published(folder, names, own, sha256, verdicts, metrics)


def load_pretrained(folder: str | Path) -> Run:
    """The run in a folder that `save_pretrained` wrote, for every function that takes a run.

    Refuses folders that are incomplete or were changed, and never reads a pickle.

    Args:
        folder: a folder that `vs.save_pretrained` wrote.

    Returns:
        `Run`: one run folder.

    Raises:
        BusyError: another process works on the same run.
        DiskError: a folder cannot be written.
        RunError: a folder is not a run, or the run does not fit.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import tempfile
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> folder = tempfile.mkdtemp()
        >>> run = vs.train("vae", x, latent=2, steps=5, net={"name": "linear"}, out=folder)
        >>> vs.save_pretrained(run, f"{folder}/hub", x).folder.name
        'hub'
        >>> vs.load_pretrained(f"{folder}/hub").is_done
        True
    """
    run = Run(Path(folder))
    if not run.published:
        there = sorted(path.name for path in run.path.iterdir()) if run.path.is_dir() else []
        has = f"it has {', '.join(there)}" if there else "it is empty or missing"
        raise RunError(
            f"{run.path} is not in the Hugging Face layout: wanted config.json; {has}.",
            "Give a folder that vs.save_pretrained made. A folder with spec.json is a run already: "
            "vs.open_run(folder).",
        )
    config = run.read_config()
    run.open()  # checks the settings against their digest
    if not run.model.is_file():
        raise RunError(
            f"{run.path} has no {run.model.name}; weights in other formats are not read, since "
            "reading a pickle runs what is in it.",
            "Get that file from the same source as config.json.",
        )
    if sha256_of(read_regular(run.model)) != config["weights_sha256"]:
        raise RunError(
            f"{run.model} is damaged or belongs to a different model: it does not match "
            "config.json.",
            "Get both files again.",
        )
    load_vae(run)  # what does not fit is found here, not later
    return run


def _run(run: Run | str | Path) -> Run:
    if isinstance(run, Run):
        return run
    if isinstance(run, str | Path):
        return Run(Path(run))
    raise UsageError(
        f"save_pretrained takes a run; got {type(run).__name__}.",
        "Give a run or its folder. Save models of other libraries with those libraries; "
        "vs.export_onnx exports them.",
    )


def _name(run: Run) -> str:
    """As it was trained, through any number of folders."""
    return str(run.read_config()["name"]) if run.published else run.path.resolve().name


def _refuse(out: Run, spec: Experiment) -> None:
    """Writes over nothing but an earlier export of the same experiment."""
    if out.created:
        raise RunError(f"{out.path} is a run folder.", "Choose another folder for the export.")
    if out.published and digest(resolve(out.open())) != digest(spec):
        raise RunError(
            f"{out.path} holds a different model.", "Choose another folder for the export."
        )
