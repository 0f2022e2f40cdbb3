"""Metrics for training loops of torchmetrics and Lightning: update by batches, compute at the end.

Needs the extra `torchmetrics`. Each class collects the rows of all batches, and of all processes in
the order of their ranks, and gives them to the plain function, whose value it returns.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from torchmetrics import Metric as TorchMetric
from torchmetrics.utilities import dim_zero_cat

from vaescope.codes import Codes
from vaescope.errors import UsageError
from vaescope.metrics.active_units import THRESHOLD, active_units
from vaescope.metrics.dci import dci
from vaescope.metrics.infomec import Pruning, infoe, infomec
from vaescope.metrics.mig import mig
from vaescope.metrics.modularity import modularity
from vaescope.metrics.sap import sap

__all__ = [
    "ActiveUnitsMetric",
    "DCIMetric",
    "InfoMECMetric",
    "MIGMetric",
    "ModularityMetric",
    "SAPMetric",
]


class CodesMetric(TorchMetric, ABC):
    """Collects codes; says nothing of what is computed from them."""

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    mean: Any  # lists of tensors, or one after processes have met
    variance: Any
    factors: Any

    def __init__(self, **torchmetrics: Any) -> None:
        """`torchmetrics` are the keywords of its `Metric`, e.g. `sync_on_compute`."""
        super().__init__(**torchmetrics)
        self.add_state("mean", default=[], dist_reduce_fx="cat")
        self.add_state("variance", default=[], dist_reduce_fx="cat")
        self.add_state("factors", default=[], dist_reduce_fx="cat")

    def update(self, mean: Any, factors: Any = None, variance: Any = None) -> None:
        """Tensors of one batch: means (n, d), classes (n, k) where the metric needs factors, and
        posterior variances (n, d); without them the means count as certain."""
        self.mean.append(mean.detach())
        if factors is not None:
            self.factors.append(factors.detach())
        if variance is not None:
            self.variance.append(variance.detach())

    def compute(self) -> Any:
        if not len(self.mean):
            raise UsageError("There are no codes yet.", "Call update with a batch first.")
        mean = dim_zero_cat(self.mean)
        z = mean.cpu().double().numpy()
        variance, factors = (
            dim_zero_cat(own).cpu().numpy() if len(own) else None
            for own in (self.variance, self.factors)
        )
        v = np.full(z.shape, 1e-12) if variance is None else variance.astype(np.float64)
        found = self.values(Codes(z, v, z, factors=factors))
        if isinstance(found, Mapping):
            return {name: mean.new_tensor(value) for name, value in found.items()}
        return mean.new_tensor(found)

    @abstractmethod
    def values(self, codes: Codes) -> float | Mapping[str, float]:
        """The number, or several by name."""


class MIGMetric(CodesMetric):
    """`vaescope.metrics.mig`."""

    def __init__(self, *, bins: int = 20, **torchmetrics: Any) -> None:
        super().__init__(**torchmetrics)
        self.bins = bins

    def values(self, codes: Codes) -> float:
        return mig(codes, bins=self.bins, resamples=0).value


class SAPMetric(CodesMetric):
    """`vaescope.metrics.sap`."""

    def values(self, codes: Codes) -> float:
        return sap(codes).value


class ModularityMetric(CodesMetric):
    """`vaescope.metrics.modularity`."""

    def __init__(self, *, bins: int = 20, **torchmetrics: Any) -> None:
        super().__init__(**torchmetrics)
        self.bins = bins

    def values(self, codes: Codes) -> float:
        return modularity(codes, bins=self.bins, resamples=0).value


class DCIMetric(CodesMetric):
    """`vaescope.metrics.dci`: three values by name."""

    def __init__(self, *, engine: str = "first-order", **torchmetrics: Any) -> None:
        super().__init__(**torchmetrics)
        self.engine = engine

    def values(self, codes: Codes) -> Mapping[str, float]:
        found = dci(codes, engine=self.engine)
        return {
            "dci_disentanglement": found.disentanglement.value,
            "dci_completeness": found.completeness.value,
            "dci_informativeness": found.informativeness.value,
        }


class InfoMECMetric(CodesMetric):
    """`vaescope.metrics.infomec` and `infoe`: three values by name. Pruning by types needs the
    posterior variances in `update`; the default is as published, by range."""

    def __init__(self, *, pruning: Pruning = "range", **torchmetrics: Any) -> None:
        super().__init__(**torchmetrics)
        self.pruning = pruning

    def values(self, codes: Codes) -> Mapping[str, float]:
        table = infomec(codes, pruning=self.pruning)
        return {
            "infom": table.modularity.value,
            "infoc": table.compactness.value,
            "infoe": infoe(codes, resamples=0).value,
        }


class ActiveUnitsMetric(CodesMetric):
    """`vaescope.metrics.active_units`: needs no factors."""

    def __init__(self, *, threshold: float = THRESHOLD, **torchmetrics: Any) -> None:
        super().__init__(**torchmetrics)
        self.threshold = threshold

    def values(self, codes: Codes) -> float:
        return active_units(codes, threshold=self.threshold).value
