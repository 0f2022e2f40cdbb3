"""A run is a folder of readable files named by the digest of its experiment.

All file names of a run are here and nowhere else.
"""

import errno
import fcntl
import json
import logging
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vaescope.errors import BusyError, RunError, UsageError
from vaescope.own_parts.specs import GROUPS, ImportedSpec
from vaescope.paths import clear_scratch, disk_errors, replace_file
from vaescope.reading import parse_json, read_json, read_regular
from vaescope.run_rows import json_object, rows_of
from vaescope.sealing import is_sealed, seal_document, sha256_of
from vaescope.settings import dump_yaml, experiment
from vaescope.specs import FORMAT, Experiment, digest, resolve, to_dict

__all__ = ["Run", "strict_json"]

_LOG = logging.getLogger("vaescope")

_LOCK = ".lock"
#: What config.json of a published run has beside library and format.
_CONFIG = {"name", "digest", "weights_sha256", "experiment"}


def strict_json(content: Any, **options: Any) -> str:
    """JSON without NaN or Infinity: null stands for both."""
    return json.dumps(_finite(content), allow_nan=False, **options)


def _finite(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {str(key): _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


@dataclass(frozen=True)
class Run:
    """A run folder. Its files are read on demand."""

    path: Path
    #: Parts by group that the folder does not keep: objects of Python (`open_run`).
    objects: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def of(spec: Experiment, name: str, folder: Path) -> "Run":
        """Where the run of an experiment lives below `folder`."""
        return Run(folder / f"{name}-s{spec.seed}-{digest(spec)[:8]}")

    @property
    def created(self) -> bool:
        """Whether it is a folder to train in."""
        return self._spec.exists()

    @property
    def published(self) -> bool:
        """Whether it is in the Hugging Face layout, where config.json holds the spec and is the
        mark that the run is done. `vs.save_pretrained` writes it."""
        return self.config.exists() and not self.created

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def card(self) -> Path:
        return self.path / "README.md"

    @property
    def model(self) -> Path:
        """The weights by the name that the Hugging Face layout has for them."""
        return self.path / "model.safetensors"

    @property
    def weights(self) -> Path:
        return self.model if self.published else self.path / "weights.safetensors"

    @property
    def state(self) -> Path:
        return self.path / "state.safetensors"

    @property
    def history(self) -> Path:
        return self.path / "history.jsonl"

    @property
    def validation(self) -> Path:
        """Measurements on rows held out, where the experiment asks for them."""
        return self.path / "validation.jsonl"

    @property
    def correlations(self) -> Path:
        """Correlations of means at the steps that `logging.correlations` names."""
        return self.path / "correlations.jsonl"

    @property
    def timing(self) -> Path:
        return self.path / "timing.jsonl"

    @property
    def environment(self) -> Path:
        return self.path / "environment.json"

    @property
    def _spec(self) -> Path:
        return self.path / "spec.json"

    @property
    def _done(self) -> Path:
        return self.path / "done.json"

    @property
    def is_done(self) -> bool:
        """Weights that were lost are made again from the last checkpoint."""
        return (self._done.exists() and self.weights.exists()) or self.published

    @property
    def weights_sha256(self) -> str | None:
        """What the weights of a finished run were when they were written, where that was noted."""
        noted = (self.read_config() if self.published else self.read_done()).get("weights_sha256")
        return None if noted is None else str(noted)

    def read_done(self) -> dict[str, Any]:
        """The mark that the run is done, checked against its seal."""
        try:
            content = read_json(self._done)
            is_sealed(content)
        except ValueError as error:
            raise RunError(
                f"{self._done} is damaged: {error}.",
                "Delete it, then run the `vaescope train` command again: the last checkpoint is "
                "kept.",
            ) from error
        return content

    def seals(self) -> dict[str, str]:
        """sha256 of files by name, as they were when the run ended; of runs that are not done, or
        older than seals, none."""
        if self.published:
            files = self.read_config().get("files")
        else:
            files = self.read_done().get("files") if self._done.exists() else None
        return files if isinstance(files, dict) else {}

    def require_seal(self, path: Path, content: bytes) -> None:
        """Refuses the content of a file that is not what it was when the run ended."""
        if self.seals().get(path.name) not in (None, sha256_of(content)):
            raise RunError(
                f"{path} is damaged: it has changed since the run ended.",
                f"Restore it; `vaescope check {self.path}` says what can be rebuilt.",
            )

    def open(self) -> Experiment:
        """The experiment of an existing run folder."""
        spec = self._read()
        if not self.objects:
            return spec
        from vaescope.own_parts.objects import attach

        return attach(spec, self.objects, str(self.path))

    def _read(self) -> Experiment:
        if self.published:
            config = self.read_config()
            return self._require(config["digest"], self.config, config["experiment"])
        if not self.created:
            raise RunError(
                f"{self.path} is not a run folder: "
                + ("it has no spec.json." if self.path.exists() else "it does not exist."),
                "Give a folder that `vaescope train` made.",
            )
        try:
            content = read_regular(self._spec, most="JSON_BYTES")
            tree = json_object(content)
        except ValueError as error:
            raise RunError(
                f"{self._spec} is not JSON: {error}.", "Restore it, or train again elsewhere."
            ) from error
        wanted = self.read_done().get("digest") if self._done.exists() else None
        spec = self._require(wanted, self._spec, tree)
        self.require_seal(self._spec, content)
        return spec

    def _require(self, wanted: str | None, path: Path, content: Mapping[str, Any]) -> Experiment:
        """The experiment in a file, whose digest must be the one that was noted, if any."""
        try:
            spec = experiment(content)
        except UsageError as error:  # the user's settings are right: the file's are not
            raise RunError(
                f"{path} cannot be read: {error.message}",
                "Restore it, open it with the vaescope that wrote it, or train again elsewhere.",
            ) from error
        if wanted not in (None, digest(spec)):
            raise RunError(
                f"{path} is damaged or was changed: it differs from what was trained.",
                f"Restore it; `vaescope check {self.path}` says what can be rebuilt.",
            )
        return spec

    def read_config(self) -> dict[str, Any]:
        """config.json of a published run, checked to be one of ours."""
        try:
            content = parse_json(read_regular(self.config, most="JSON_BYTES"))
        except ValueError as error:
            raise RunError(f"{self.config} is not JSON: {error}.", "Get the file again.") from error
        if not isinstance(content, dict) or content.get("library") != "vaescope":
            raise RunError(
                f"{self.config} was not written by vaescope.",
                "Give a folder that vs.save_pretrained made; vs.inspect(model, images) takes "
                "models of other libraries.",
            )
        if content.get("format") not in range(1, FORMAT + 1):
            raise RunError(
                f"{self.config} has format {content.get('format')}; this vaescope reads up to "
                f"{FORMAT}.",
                "Install a newer vaescope.",
            )
        if missing := _CONFIG - content.keys():
            raise RunError(
                f"{self.config} lacks {', '.join(sorted(missing))}.", "Get the file again."
            )
        try:
            is_sealed(content)
            if not isinstance(content["experiment"], dict):
                raise ValueError("its experiment is not a mapping of keys")
        except ValueError as error:
            raise RunError(f"{self.config} is damaged: {error}.", "Get it again.") from error
        return content

    def create(self, spec: Experiment) -> None:
        """Makes the folder and writes the spec; what is there of the same digest stays."""
        spec = resolve(spec)
        if self.published:
            raise RunError(f"{self.path} holds a published model.", "Choose another --out.")
        if self.created:
            begun = self.open()
            if digest(begun) != digest(spec):
                raise RunError(
                    f"{self.path} holds another experiment ({digest(begun)[:8]}).",
                    "Choose another --out.",
                )
            if begun.logging != spec.logging and not self.is_done:
                kept = ", ".join(f"logging.{k}={v}" for k, v in to_dict(begun)["logging"].items())
                _LOG.info("%s keeps %s, with which it was started.", self.path, kept)
            return
        content = to_dict(spec)
        self._refuse_changed_source(spec)
        with disk_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        # Settled by the first checkpoint, or by the end: without one there is nothing to lose.
        replace_file(self.path / "spec.yaml", dump_yaml(content).encode(), settled=False)
        replace_file(self._spec, (strict_json(content, indent=1) + "\n").encode(), settled=False)

    def discard(self) -> None:
        """Removes a folder in which nothing was trained yet: no checkpoint and no history."""
        with self.lock():
            if self.state.exists() or self.is_done or self.records():
                return
            begun = (self._spec, self.path / "spec.yaml", self.environment, self.history)
            for file in (*begun, self.timing, self.path / _LOCK):
                file.unlink(missing_ok=True)
            self.path.rmdir()

    def _refuse_changed_source(self, spec: Experiment) -> None:
        """The same settings with other source are another run. Where one is under way, who gives
        its command again wants to resume it."""
        if not spec.own:
            return
        for path in sorted(self.path.parent.glob(f"{self.path.name.rpartition('-')[0]}-*")):
            other = Run(path)
            if not other.created or other.is_done or not other.state.exists():
                continue
            begun = other._read()
            changed = [g for g in GROUPS if _source(begun, g) != _source(spec, g)]
            if changed and _without_sources(begun) == _without_sources(spec):
                names = ", ".join(f"{g}.name={getattr(spec, g).name}" for g in changed)
                raise RunError(
                    f"{path} was started with other source code of {names} and is not finished.",
                    f"Restore that source to resume; or delete {path}, or choose another --out, to "
                    "train with the new one.",
                )

    def finish(self, facts: Mapping[str, Any]) -> None:
        """Marks the run as done and seals its files; the last file written."""
        # Not timing.jsonl, whose rows have seals of their own: it differs between equal runs.
        files = (self._spec, self.history, self.validation, self.correlations, self.environment)
        seals = {file.name: sha256_of(file.read_bytes()) for file in files if file.exists()}
        content = seal_document(json.loads(strict_json({**facts, "files": seals})))
        replace_file(self._done, (strict_json(content, indent=1) + "\n").encode())

    def records(self) -> list[dict[str, Any]]:
        """The rows of the history, oldest first."""
        return self._sealed_rows(self.history)

    def validations(self) -> list[dict[str, Any]]:
        """The measurements on rows held out, oldest first."""
        return self._sealed_rows(self.validation)

    def read_correlations(self) -> list[dict[str, Any]]:
        """Correlations of means at chosen steps, oldest first: `training.correlations`."""
        return self._sealed_rows(self.correlations)

    def _sealed_rows(self, path: Path) -> list[dict[str, Any]]:
        if not path.exists():
            if path.name in self.seals():
                raise RunError(f"{path} is lost.", "Restore it, or train again elsewhere.")
            return []
        try:
            content = read_regular(path)
        except (OSError, ValueError) as error:
            raise RunError(f"{path}: {error}.", "Restore it.") from error
        rows = [row for _, row in rows_of(path, content)]
        self.require_seal(path, content)
        return rows

    def clear_scratch(self) -> None:
        """Removes what killed processes left of files that are written under the lock."""
        files = (self.state, self.weights, self.history, self.timing, self.validation,
                 self.correlations, self.environment, self._done)  # fmt: skip
        for file in files:
            clear_scratch(file)

    def cut(self, step: int, recorded: int, seal: str | None = None) -> None:
        """Drops what was written after `step`: the steps from there on are made again. Refuses a
        history that does not reach `recorded`, where it was when `step` was saved, or whose rows
        up to there have not that seal."""
        remedy = f"Restore it, or delete {self.state} to train this run from the beginning."
        beside = filter(Path.exists, (self.validation, self.correlations))
        for file in (self.history, self.timing, *beside):
            try:
                before = read_regular(file) if file.exists() else b""
                there = rows_of(file, before)
            except (OSError, ValueError) as error:
                raise RunError(f"{file} cannot be read: {error}.", remedy) from error
            kept = [(line, row["step"]) for line, row in there if row["step"] <= step]
            content = b"".join(line for line, _ in kept)
            last = max((at for _, at in kept), default=0)
            if file == self.history and last != recorded:
                raise RunError(
                    f"{self.history} ends at step {last}; it had rows up to {recorded} when the "
                    "checkpoint was made.",
                    remedy,
                )
            if file == self.history and seal not in (None, sha256_of(content)):
                raise RunError(
                    f"{self.history} is damaged: it has changed since the checkpoint was made.",
                    remedy,
                )
            if content != before:
                replace_file(file, content)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps other processes out; the system lets go of it when this one dies."""
        path = self.path / _LOCK
        with disk_errors(path):  # a pipe in its place would wait for a reader
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, 0o666)
        with os.fdopen(number, "a"):
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                raise BusyError(
                    f"Another process is training {self.path}.",
                    "Wait for it, or choose another --out.",
                ) from error
            yield


def _source(spec: Experiment, group: str) -> str:
    part = getattr(spec, group)
    return part.sha256 if isinstance(part, ImportedSpec) else ""


def _without_sources(spec: Experiment) -> dict[str, Any]:
    content = to_dict(resolve(spec))
    del content["logging"]
    for group in GROUPS:
        if _source(spec, group):  # that of an object tells its settings too
            del content[group]["sha256"]
    return content
