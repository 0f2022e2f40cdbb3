"""What a linear model can do with each type of latents. bonheme2023, section 4.1 and Figure 6.

Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vaescope.codes import Codes
from vaescope.latents.correlation import SUBSETS
from vaescope.latents.types import Types, types
from vaescope.metrics.logistic import cross_validated, standardised_multinomial
from vaescope.metrics.rows import Representation, RowSplit, split
from vaescope.notebook_card import card_of
from vaescope.seeds import rng
from vaescope.types import Double, Long

__all__ = ["Downstream", "downstream"]

#: Sets of latents that are dropped at random.
LOTS = 5
_CONTROLS = {
    "passive_relabelled": "passive means, factors of other rows",
    "mean_lot": "means without as many latents at random",
    "sample_lot": "samples without as many latents at random",
}


@dataclass(frozen=True, eq=False)
class Downstream:
    """Test accuracy of predicting each factor, by representation and subset of latents.

    Keys are those of `mean_against_sample`; a subset without latents has None.
    """

    accuracy: Mapping[str, Double | None]  # (factor,)
    chance: Double  # accuracy of uniform guessing, as bonheme2023's baseline
    majority: Double  # accuracy of always guessing the commonest training class
    factors: tuple[str, ...]
    train: int
    test: int
    engine: str
    supervised: bool  # whether the encoder saw the factors
    #: Means over the factors of the control accuracies. "passive_relabelled": passive means with
    #: factors of other rows. "mean_lot", "sample_lot": as many latents dropped at random as are
    #: passive. None if no latent is passive.
    controls: Mapping[str, float | None] = field(default_factory=dict)

    def summary(self) -> str:
        """One line on means and one on samples, as means over the factors."""
        lines = []
        for name in ("mean", "sample"):
            said = [
                f"{suffix.strip('_').replace('_', ' ') or 'all'} {float(own.mean()):.3g}"
                for suffix in SUBSETS
                if (own := self.accuracy[f"{name}{suffix}"]) is not None
            ]
            lines.append(f"accuracy from {name}s: {', '.join(said)}")
        seen = "; the encoder saw the factors" if self.supervised else ""
        for name, compared in self.controls.items():
            if compared is not None:
                lines.append(f"{_CONTROLS[name]} {compared:.3g}")
        return (
            f"{'; '.join(lines)}; chance {float(self.chance.mean()):.3g}, "
            f"n = {self.train:,} + {self.test:,}{seen}"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "accuracy": {
                key: None if own is None else float(own.mean())
                for key, own in self.accuracy.items()
            },
            "by_factor": {
                key: None if own is None else own.tolist() for key, own in self.accuracy.items()
            },
            "chance": float(self.chance.mean()),
            "majority": float(self.majority.mean()),
            "factors": list(self.factors),
            **({"controls": dict(self.controls)} if self.controls else {}),
            "protocol": {
                "train": self.train,
                "test": self.test,
                "engine": self.engine,
                "supervised": self.supervised,
            },
        }

    _repr_html_ = card_of


def downstream(
    codes: Codes,
    *,
    kinds: Types | None = None,
    train: int | None = None,
    test: int | None = None,
    as_paper: bool = False,
    controls: bool = False,
    seed: int = 0,
) -> Downstream:
    """Accuracy of a logistic regression for each factor from each subset of the latents.

    Standardised codes, hardly penalised (C = 10,000); `as_paper` takes raw codes and chooses the
    strength by cross-validation, which takes about 50 times as long. Standardising amplifies tiny
    passive means: the accuracy then shows what they encode, not how large they are. It uses 10,000
    and 5,000 rows, or all rows in the ratio 2:1.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        kinds: types of the latents, if they are already known.
        train: number of training rows of the classifiers; None takes the protocol's.
        test: number of test rows; None takes the protocol's.
        as_paper: whether codes are raw and the penalty is cross-validated, as in bonheme2023.
        controls: also passive means with the factors of other rows, and as many latents dropped at
            random as are passive: the comparison for any finding about passive latents.
        seed: seed of all random draws.

    Returns:
        `Downstream`: test accuracy of predicting each factor, by representation and subset of
        latents.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> vs.latents.downstream(codes).train
        400
    """
    kinds = types(codes) if kinds is None else kinds
    fit = cross_validated if as_paper else standardised_multinomial
    accuracy: dict[str, Double | None] = {}
    compared: dict[str, float | None] = dict.fromkeys(_CONTROLS) if controls else {}

    def of(rows: RowSplit, which: Sequence[int], order: Long | None = None) -> Any:
        """Accuracy for each factor; `order` gives training rows the factors of others."""
        learn, judge = rows.train.z[:, which], rows.test.z[:, which]
        known = rows.train.factors if order is None else rows.train.factors[order]
        return np.array(
            [
                float((fit(learn, y, seed=seed).predict(judge) == truth).mean())
                for y, truth in zip(known.T, rows.test.factors.T, strict=True)
            ]
        )

    dropped = len(kinds.passive)
    representations: tuple[Representation, ...] = ("mean", "sample")
    for name in representations:
        rows = split(codes, "downstream", on=name, train=train, test=test, seed=seed)
        known: dict[tuple[int, ...], Double] = {}  # subsets may be the same
        for suffix, wanted in SUBSETS.items():
            which = tuple(kinds.of(*wanted).tolist())
            if which and which not in known:
                known[which] = of(rows, which)
            accuracy[f"{name}{suffix}"] = known.get(which)
        if controls and 0 < dropped < codes.d:
            lots = [rng(lot, "left-by-lot").permutation(codes.d)[dropped:] for lot in range(LOTS)]
            compared[f"{name}_lot"] = float(np.mean([of(rows, one.tolist()) for one in lots]))
        if controls and name == "mean" and dropped:
            order = rng(seed, "relabelled").permutation(len(rows.train.factors))
            found = of(rows, kinds.passive.tolist(), order)
            compared["passive_relabelled"] = float(found.mean())
    learned, truth = rows.train.factors, rows.test.factors
    return Downstream(
        accuracy,
        np.array([1.0 / len(np.unique(y)) for y in learned.T]),
        np.array(
            [
                float((np.bincount(a).argmax() == b).mean())
                for a, b in zip(learned.T, truth.T, strict=True)
            ]
        ),
        rows.train.names,
        rows.train.n,
        rows.test.n,
        "cross-validated logistic regression, raw codes"
        if as_paper
        else "logistic regression, standardised codes",
        codes.supervised,
        compared,
    )
