"""Every measure that codes allow, in the shape of the interface's `measure`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vaescope.codes import Codes
from vaescope.decomposition import DecompositionMeasures, decomposition
from vaescope.latents import MeanAgainstSample, Types, mean_against_sample, types
from vaescope.metrics import Score, measure_metrics
from vaescope.metrics.protocols import preset
from vaescope.metrics.score import versions
from vaescope.metrics.suite import WITHOUT_FACTORS, known_metrics

__all__ = ["Measures", "measure_codes"]


@dataclass(frozen=True, eq=False)
class Measures:
    """Scores by representation and name, and the measures that need no factors."""

    n: int
    d: int
    scores: Mapping[str, Mapping[str, Score]]
    skipped: Mapping[str, str]  # why a metric is not available
    types: Types
    correlation: MeanAgainstSample
    decomposition: DecompositionMeasures

    def to_dict(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "d": self.d,
            "metrics": {
                where: {name: score.to_dict() for name, score in own.items()}
                for where, own in self.scores.items()
            },
            "skipped": dict(self.skipped),
            "latents": self.types.to_dict(),
            "correlation": self.correlation.to_dict(),
            "decomposition": self.decomposition.to_dict(),
            "versions": dict(versions()),
        }


def measure_codes(
    codes: Codes,
    *,
    metrics: Sequence[str] | None = None,
    on: Sequence[Any] = ("mean", "sample"),
    protocol: str = "default",
    train: int | None = None,
    test: int | None = None,
    seed: int = 0,
) -> Measures:
    """Types, mean against sample, decomposition, and metrics: all of them where factors are known.

    Arguments as for `measure_metrics`.
    """
    if metrics is not None:
        known_metrics(metrics)
    preset(protocol)  # codes without factors do not hide a wrong name
    if codes.factors is None and codes.factor_values is None:
        needy = [name for name in metrics or () if name not in WITHOUT_FACTORS]
        if needy:
            codes.require_factors(", ".join(needy))
        metrics = WITHOUT_FACTORS if metrics is None else metrics
    found, skipped = measure_metrics(
        codes, metrics=metrics, on=on, protocol=protocol, train=train, test=test, seed=seed
    )
    scores = {str(name): own for name, own in found.items()}
    if codes.factors is None and codes.factor_values is None:
        skipped["metrics"] = "the codes have neither factors nor factor_values"
    kinds = types(codes)
    return Measures(
        codes.n, codes.d, scores, skipped, kinds,
        mean_against_sample(codes, kinds=kinds), decomposition(codes, seed=seed),
    )  # fmt: skip
