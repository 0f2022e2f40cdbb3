"""What a perturbation is, as numbers and as a dataset."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from vaescope.build import build_data
from vaescope.data import Dataset
from vaescope.perturbing.pool import Selection
from vaescope.perturbing.settings import PerturbSettings
from vaescope.settings import from_python
from vaescope.types import Single

__all__ = ["FILE", "PAGE", "Perturbation"]

FILE, PAGE = "perturbed.npz", "preview.html"


@dataclass(frozen=True, eq=False)
class Perturbation:
    """A perturbed dataset: where it lies, how large the changes are, and who was played off."""

    folder: Path
    source: str
    settings: PerturbSettings
    selection: Selection | None  # None: an untrained network needs no models
    largest: float  # change of a pixel
    rms: float
    n: int
    originals: Single  # of a few rows
    images: Single
    #: Steps of m, and the mean distortion of entangled and of disentangled decoders, nats.
    trace: tuple[tuple[float, float, float], ...]

    @property
    def path(self) -> Path:
        """The file that `data.name=perturbed data.path=...` takes."""
        return self.folder / FILE

    @property
    def data(self) -> Dataset:
        """The dataset, as `vs.train` takes it."""
        return build_data(
            from_python("vae", {"name": "perturbed", "path": str(self.path)}, {}).data
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": str(self.path), "page": str(self.folder / PAGE), "source": self.source,
            "n": self.n, "epsilon": self.settings.epsilon, "kind": self.settings.kind,
            "max": self.largest, "rms": self.rms, "settings": self.settings.to_dict(),
            "selection": None if self.selection is None else self.selection.to_dict(),
            "trace": [list(row) for row in self.trace],
        }  # fmt: skip

    def summary(self) -> str:
        lines = [
            f"{self.n:,} images of {self.source}, {self.settings.kind}: each pixel changed by at "
            f"most {self.largest:.4f} (epsilon {self.settings.epsilon:g}), RMS {self.rms:.4f}.",
        ]
        if self.selection is not None:
            low, high = self.selection.entangled, self.selection.disentangled
            lines.append(
                f"MIG of the models: entangled {max(m.mig for m in low):.2f}, disentangled "
                f"{min(m.mig for m in high):.2f}, from a pool of {len(self.selection.pool)}."
            )
        lines.append(f"Train on it: data.name=perturbed data.path={self.path}")
        return "\n".join(lines)

    def save_preview(self) -> None:
        """Writes the page: originals, the change magnified, and the perturbed images."""
        import_module("vaescope.report.perturbation").save_preview(self, self.folder / PAGE)
