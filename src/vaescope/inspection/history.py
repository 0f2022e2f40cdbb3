"""The history of a run as curves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.inspection.results import Training
from vaescope.specs import Experiment

__all__ = ["training_of"]


def training_of(records: Sequence[dict[str, Any]], spec: Experiment | None) -> Training | None:
    """Losses and types by step; None where nothing was recorded."""
    rows = [row for row in records if "distortion" in row]
    if not rows or spec is None:
        return None

    def column(name: str) -> NDArray[np.float64]:
        # A null in the history was no finite number; a plain autoencoder has no rate.
        values = [row.get(name) for row in rows]
        return np.array([np.nan if value is None else value for value in values])

    def counts(name: str) -> NDArray[np.int64]:
        return np.array([row[name] for row in rows], dtype=np.int64)

    return Training(
        counts("step"), column("loss"), column("distortion"), column("rate"),
        counts("active"), counts("mixed"), counts("passive"), _since(spec),
        _by_latent(rows, "variance"), _by_latent(rows, "latent_kl"),
    )  # fmt: skip


def _since(spec: Experiment) -> int:
    """When the last schedule of the objective ended. The learning rate may fall to the very end."""
    lengths = [getattr(value, "steps", 0) for value in dict(spec.objective).values()]
    return max([0, *(length for length in lengths if isinstance(length, int))])


def _by_latent(rows: Sequence[dict[str, Any]], name: str) -> NDArray[np.float64] | None:
    """(step, latent) Of every record; None where some have none."""
    values = [row.get(name) for row in rows]
    if not all(isinstance(own, list) and own and None not in own for own in values):
        return None
    lengths = {len(own) for own in values if own is not None}
    return np.array(values, dtype=np.float64) if len(lengths) == 1 else None
