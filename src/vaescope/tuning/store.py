"""The folder of a tune: points, rounds and weights, so that a killed one resumes.

All file names of a tune are here and nowhere else.
"""

import os
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from vaescope.errors import RunError
from vaescope.paths import disk_errors, replace_file
from vaescope.reading import read_regular
from vaescope.runs import Run, strict_json
from vaescope.sealing import seal_document, seal_row, sealed_rows
from vaescope.tuning.curve import CurvePoint

__all__ = ["Folder"]

_POINT = {entry.name for entry in fields(CurvePoint)}
#: Of points; folders of older versions are without them.
_LATER = {"effective_number", "rows", "drift"}
_ROUND = {"run", "step", "variance"}


@dataclass(frozen=True)
class Folder:
    """Holds its path only; files are read when asked for."""

    path: Path

    @property
    def run(self) -> Run:
        """Its lock and its environment file are those of a run."""
        return Run(self.path)

    @property
    def page(self) -> Path:
        return self.path / "curve.html"

    def state(self, name: str) -> Path:
        """Weights after, or amid, the short run of this name."""
        return self.path / f"{name}.safetensors"

    def create(self, about: Mapping[str, Any]) -> None:
        with disk_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        file = self.path / "tune.json"
        if not file.exists():
            replace_file(file, (strict_json(seal_document(about), indent=1) + "\n").encode())

    def points(self, kind: str) -> list[CurvePoint]:
        """Points of the `curve` or of its `checks`, in order of beta."""
        rows = {row["beta"]: row for row in _rows(self.path / f"{kind}.jsonl", _POINT, _LATER)}
        return [
            CurvePoint(**{**rows[beta], "mean_variance": tuple(rows[beta]["mean_variance"])})
            for beta in sorted(rows)
        ]

    def add_point(self, kind: str, point: CurvePoint) -> None:
        _append(self.path / f"{kind}.jsonl", point.to_dict(), durable=True)

    def rounds(self, name: str, steps: int) -> list[list[float]]:
        """Mean posterior variances of each round of a short run that ended within `steps`."""
        found = {
            row["step"]: row["variance"]
            for row in _rows(self.path / "rounds.jsonl", _ROUND)
            if row["run"] == name and row["step"] <= steps
        }
        return [found[step] for step in sorted(found)]

    def add_round(self, name: str, step: int, variance: tuple[float, ...]) -> None:
        # Lost in a power cut it costs further rounds, no more: not worth a flush to the disk each.
        row = {"run": name, "step": step, "variance": list(variance)}
        _append(self.path / "rounds.jsonl", row, durable=False)


def _append(path: Path, row: Mapping[str, Any], *, durable: bool) -> None:
    with disk_errors(path):
        _end_line(path)
        before = path.read_bytes() if path.exists() else b""
        with path.open("a", encoding="utf-8") as file:
            file.write(seal_row(before, strict_json(row)))
            file.flush()
            if durable:
                os.fsync(file.fileno())


def _end_line(path: Path) -> None:
    """Drops half a line that a killed process left, or the next row would be lost with it."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


def _rows(path: Path, keys: Set[str], optional: Set[str] = frozenset()) -> Iterator[dict[str, Any]]:
    """Rows with just these keys; some may be missing."""
    if not path.exists():
        return
    number = 1
    try:
        for row in sealed_rows(read_regular(path)):
            if not keys - optional <= row.keys() <= keys:
                raise ValueError("it does not have the keys of such a row")
            yield row
            number += 1
    except ValueError as error:
        raise RunError(
            f"Line {number} of {path} is damaged: {error}.",
            "Delete that line and all after it to measure these again, as `vaescope check "
            f"{path.parent} --repair` does, or the folder to start again.",
        ) from error
