"""Which assumptions of a metric these codes violate, and what the court measured in such cases.

Findings are measured: dependence of factors, rows of a class, what each latent encodes.
There are none if no assumption is violated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import VaescopeError
from vaescope.information.discrete import Counts, joint_counts
from vaescope.metrics.mcc import ranks
from vaescope.metrics.rows import Labelled, Representation, labelled
from vaescope.metrics.sap_continuous import correlations
from vaescope.metrics.table import counted
from vaescope.reading import parse_json
from vaescope.types import Booleans, Double
from vaescope.wording import listed

__all__ = ["FINDINGS", "BrokenAssumption", "findings", "validity_of"]

#: Rows of a class below which what is counted or learnt of it is mostly noise.
FEWEST_ROWS = 20
#: Standard deviations above chance, and share of a factor's entropy, from which something is known.
_DEVIATIONS, _SHARE = 5.0, 0.05
#: By so much a rank correlation exceeds a plain one where the relation is no line.
_BENT = 0.02
_ROWS = 10_000
#: Record of the court: file name beside this module.
FINDINGS = "court_findings.json"

#: They read the axes: which latent knows which factor.
_AXES = (
    "mig", "mig_sup", "dci_disentanglement", "dci_completeness", "sap", "sap_continuous",
    "beta_vae", "factor_vae", "modularity", "irs", "mcc", "knn_score", "infom", "infoc",
)  # fmt: skip
_READING = (
    "dci_informativeness", "explicitness", "downstream", "infoe", "dci_explicitness",
)  # fmt: skip
_COURSES = ("monotonicity", "smoothness")
_NUMBERS = ("mcc", "sap_continuous", "knn_score")
_EVERY = (*_AXES, *_READING, *_COURSES)


@dataclass(frozen=True)
class BrokenAssumption:
    """One assumption that the codes break: in words, for which metrics, and the court's cell."""

    says: str
    metrics: tuple[str, ...]
    generator: str = "independent"
    encoder: str = "identity"


def findings(
    codes: Codes, *, on: Representation = "mean", seed: int = 0
) -> tuple[BrokenAssumption, ...]:
    """What is broken at hand; empty where nothing is, or where there are no factors to ask."""
    try:
        rows = labelled(codes, "validity", on=on, limit=_ROWS, seed=seed)
        counts = counted(codes, "validity", on=on, limit=_ROWS, resamples=0, seed=seed).counts
    except VaescopeError:
        return ()
    known = _shares(counts)[:, rows.columns]  # (latent, factor)
    told = _shares(joint_counts(rows.factors, rows.factors))  # of the second factor, by the first
    best = known.argmax(axis=1)
    # What a latent knows of another factor than its best, beyond what that one tells of it.
    own = np.arange(known.shape[1]) == best[:, None]
    knows = np.where(own, known, known - told[best]) > _SHARE
    np.fill_diagonal(told, 0.0)
    return (
        *_of_factors(rows, told),
        *_of_latents(rows, knows, told.max(axis=0), codes),
        *_of_relations(rows, knows),
    )


def _shares(counts: Counts) -> Double:
    """Information beyond chance as a share of the entropy of b; 0 where it may be chance."""
    information, chance = counts.information(), counts.chance()
    beyond = information > chance + _DEVIATIONS * np.sqrt(chance / counts.n) + 1e-12
    entropy = np.maximum(counts.entropy_of_b(), 1e-12)
    return np.where(beyond, (information - chance) / entropy, 0.0)


def _rows_of_scarcest(rows: Labelled) -> list[int]:
    """How many rows the scarcest value of each factor has."""
    return [int(np.bincount(column)[np.unique(column)].min()) for column in rows.factors.T]


def _of_factors(rows: Labelled, share: Double) -> list[BrokenAssumption]:
    found = []
    if share.max() > 0:
        a, b = np.unravel_index(int(share.argmax()), share.shape)
        most = float(share[a, b])
        names = rows.names[int(b)], rows.names[int(a)]
        # Shares of factors of four values at these correlations, from the law of large numbers.
        near = {"correlated .3": 0.03, "correlated .6": 0.16, "correlated .9": 0.5, "function": 1.0}
        found.append(BrokenAssumption(
            f"factors depend on each other: {names[1]} explains {most:.0%} of {names[0]}", _AXES,
            min(near, key=lambda name: abs(near[name] - most)),
        ))  # fmt: skip
    least = _rows_of_scarcest(rows)
    scarce = int(np.argmin(least))
    if least[scarce] < FEWEST_ROWS:
        count = f"{least[scarce]} row{'' if least[scarce] == 1 else 's'}"
        found.append(BrokenAssumption(
            f"one value of {rows.names[scarce]} has only {count}", _EVERY, "small n",
        ))  # fmt: skip
    two = [rows.names[k] for k, v in enumerate(rows.factors.T) if len(np.unique(v)) == 2]
    if two:
        found.append(BrokenAssumption(
            f"{listed(two)} {'has' if len(two) == 1 else 'have'} two values, so a guess is right "
            "in half of the rows or more",
            ("sap", "dci_informativeness", "downstream"), "few values",
        ))  # fmt: skip
    if rows.codes.factor_values is not None:
        classes = tuple(name for name in _AXES if name not in _NUMBERS)
        found.append(
            BrokenAssumption("the classes here are numbers cut into ranges", classes, "continuous")
        )
    return found


def _of_latents(
    rows: Labelled, knows: Booleans, told: Double, codes: Codes
) -> list[BrokenAssumption]:
    """`told`: the most that another factor tells of each factor, as a share."""
    found = []
    idle = np.flatnonzero(~knows.any(axis=1))
    # Of few rows, that no latent is seen to encode a factor does not say that none does.
    enough = min(_rows_of_scarcest(rows)) >= FEWEST_ROWS
    if enough and len(idle) == codes.d:
        found.append(
            BrokenAssumption(
                "no latent encodes any factor beyond chance", _EVERY, encoder="nothing"
            )
        )
    elif enough and len(idle):
        moves = np.ptp(rows.z[:, idle], axis=0).max() > 0
        says = f"{len(idle)} of {codes.d} latents encode no factor ({listed(idle.tolist())})"
        found.append(
            BrokenAssumption(says, (*_AXES, "dci_size"), encoder="noise" if moves else "dead")
        )
    from vaescope.latents.types import types

    passive = [int(j) for j in types(codes).passive if knows[j].any()]
    if passive:
        found.append(BrokenAssumption(
            f"the means of passive latents ({listed(passive)}) copy factors", _AXES,
            encoder="passive",
        ))  # fmt: skip
    # A factor that another one determines leaves a latent nothing to encode of its own.
    lost = np.flatnonzero(~knows.any(axis=0) & (told < 1.0 - _SHARE))
    if enough and len(lost) and len(idle) < codes.d:
        beyond = " beyond what other factors reveal" if told[lost].any() else ""
        unknown = listed([rows.names[k] for k in lost])
        found.append(
            BrokenAssumption(f"no single latent encodes {unknown}{beyond}", _EVERY, encoder="fewer")
        )
    several = np.flatnonzero(knows.sum(axis=1) > 1)
    spread = np.flatnonzero(knows.sum(axis=0) > 1)
    if len(several) and len(spread):
        found.append(BrokenAssumption(
            f"latents share factors ({listed(several.tolist())}), as rotated ones do", _AXES,
            encoder="rotated 45",
        ))  # fmt: skip
    elif len(several):
        found.append(BrokenAssumption(
            f"one latent encodes several factors ({listed(several.tolist())})",
            (*_AXES, *_READING), encoder="merged",
        ))  # fmt: skip
    elif len(spread):
        names = [rows.names[k] for k in spread]
        found.append(BrokenAssumption(
            f"several latents encode {listed(names)}", (*_AXES, "dci_size"), encoder="duplicated",
        ))  # fmt: skip
    if codes.supervised:
        found.append(
            BrokenAssumption("the encoder saw the factors", (*_EVERY, "dci_size"), encoder="leak")
        )
    return found


def _of_relations(rows: Labelled, knows: Booleans) -> list[BrokenAssumption]:
    v = rows.factors.astype(np.float64)
    straight = np.abs(correlations(rows.z, v))
    bent = np.abs(correlations(ranks(rows.z), ranks(v))) - straight
    best = straight.argmax(axis=0)
    curved = [rows.names[k] for k, j in enumerate(best) if knows[j, k] and bent[j, k] > _BENT]
    if not curved:
        return []
    says = (
        f"{listed(curved)} {'is' if len(curved) == 1 else 'are'} not a linear function of a latent"
    )
    return [BrokenAssumption(says, ("mcc", "sap_continuous", "smoothness"), encoder="warped")]


@lru_cache(maxsize=1)
def _record() -> Mapping[str, Any]:
    file = resources.files("vaescope.metrics") / FINDINGS
    return dict(parse_json(file.read_text())) if file.is_file() else {}


def validity_of(metric: str, found: tuple[BrokenAssumption, ...]) -> tuple[str, ...]:
    """One sentence for each finding that concerns the metric, with the court's count."""
    return tuple(f"{own.says}{_measured(metric, own)}" for own in found if metric in own.metrics)


def _measured(metric: str, finding: BrokenAssumption) -> str:
    own = _record().get(metric, {}).get(f"{finding.generator}/{finding.encoder}")
    if own is None:
        return ""
    kind, count, draws = own
    if kind == "rank":
        return f" (of two such codes the better one ranked first in {count} of {draws} trials)"
    return f" (right in {count} of {draws} trials with such codes)"
