"""How much of a dissection is done."""

from collections.abc import Mapping
from dataclasses import dataclass

from vaescope.errors import UsageError

__all__ = ["EFFORTS", "Effort", "effort_named"]


@dataclass(frozen=True)
class Effort:
    """Sizes of what costs time."""

    rows: int  # examples encoded
    decoded: int  # of these, decoded to measure the fit
    weighted: int  # of these, for the importance-weighted log-likelihood
    draws: int  # of each of these
    points: int  # Jacobians
    fits: int  # linear local decoders; 0: none
    nonlinear: int  # of these, tanh and quadratic ones too: they take ten times as long
    weighed: int  # rows for the weight of the rate
    metrics: tuple[str, ...] | None  # None: all
    pilot: int = 0  # draws that adapt the proposal of each; 0: a lower bound by q(z|x) alone
    closer: bool = False  # the diagnostics of `closer_look`
    whole: bool = True  # False: types and rates of the latents alone


#: Ten thousand examples as in bonheme2023. Fast leaves out what learns: classifiers, trees and
#: local decoders.
EFFORTS: Mapping[str, Effort] = {
    "latents": Effort(10_000, 0, 0, 0, 0, 0, 0, 0, (), whole=False),
    "fast": Effort(2_000, 500, 50, 16, 50, 0, 0, 100,
                   ("mig", "mig_sup", "modularity", "sap_continuous", "irs", "mcc")),
    "default": Effort(10_000, 2_000, 100, 50, 200, 50, 10, 200, None),
    "thorough": Effort(10_000, 10_000, 200, 768, 1_000, 60, 60, 1_000, None, pilot=256,
                       closer=True),
}  # fmt: skip


def effort_named(name: str) -> Effort:
    if name not in EFFORTS:
        raise UsageError(f"There is no effort {name!r}.", f"Use one of {', '.join(EFFORTS)}.")
    return EFFORTS[name]
