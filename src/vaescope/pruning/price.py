"""What the means of dropped latents still encode of the factors.

Passive latents are noise to the decoder, but their means may hold what the others hold too:
bonheme2023 (Be More Active!, https://arxiv.org/abs/2109.12679), section 4.1 and figure 6.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.metrics.logistic import standardised_multinomial
from vaescope.metrics.rows import RowSplit, split
from vaescope.seeds import rng
from vaescope.types import Double, Floats, Integers

__all__ = ["Loss", "Price", "price_of"]

#: Rows to learn from and to judge on, and draws of as many used latents.
TRAIN, TEST, LOTS = 2_000, 1_000, 3
NEIGHBOURS = 5


@dataclass(frozen=True)
class Loss:
    """Accuracy of one consumer of means, averaged over factors, on held-out rows."""

    before: float  # from all means
    after: float  # without those of the dropped latents
    by_lot: float  # without as many used latents, mean over draws
    error: float  # standard error of before - after, over rows

    @property
    def lost(self) -> float:
        return self.before - self.after

    @property
    def most(self) -> float:
        """What may be lost, within two standard errors."""
        return max(0.0, self.lost + 2.0 * self.error)

    @property
    def matters(self) -> bool:
        """Whether more is lost than two standard errors."""
        return self.lost > 2.0 * self.error


@dataclass(frozen=True)
class Price:
    """What dropping latents costs those who use posterior means."""

    linear: Loss
    neighbours: Loss
    train: int
    test: int
    factors: tuple[str, ...]

    def advice(self) -> str:
        """One sentence for each consumer."""
        named = {"A linear model": self.linear, "Nearest neighbours": self.neighbours}
        return " ".join(_sentence(who, loss) for who, loss in named.items())

    def to_dict(self) -> dict[str, Any]:
        return {
            name: {**asdict(loss), "lost": loss.lost, "matters": loss.matters}
            for name, loss in (("linear", self.linear), ("neighbours", self.neighbours))
        } | {"train": self.train, "test": self.test, "factors": list(self.factors)}


def _sentence(who: str, loss: Loss) -> str:
    verb = "lose" if who.endswith("s") else "loses"
    used = f"{loss.by_lot:.3f} without as many used ones"
    figures = f"{loss.before:.3f} with all latents, {loss.after:.3f} without these, {used}"
    if loss.matters:
        return (
            f"{who} on means {verb} accuracy on the factors ({figures}): keep the passive means "
            "for this use."
        )
    most = f"; a loss of at most {loss.most:.3f}" if loss.most >= 0.0005 else ""
    nothing = f"{who} on means {verb} no accuracy on the factors beyond noise"
    return f"{nothing} ({figures}{most}): drop them."


Learner = Callable[[Floats, Integers, Floats], Integers]


def _linear(x: Floats, y: Integers, at: Floats) -> Integers:
    return standardised_multinomial(x, y).predict(at)


def _nearest(x: Floats, y: Integers, at: Floats) -> Integers:
    from sklearn.neighbors import KNeighborsClassifier

    centre, scale = x.mean(axis=0), x.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    model = KNeighborsClassifier(NEIGHBOURS).fit((x - centre) / scale, y)
    return np.asarray(model.predict((at - centre) / scale), dtype=np.int64)


LEARNERS: Mapping[str, Learner] = {"linear": _linear, "neighbours": _nearest}


def price_of(codes: Codes, dropped: Sequence[int], *, seed: int = 0) -> Price | None:
    """Accuracy from means with and without the dropped latents, and without as many used ones
    drawn at random; None where the codes have no factors to predict, or too few rows.

    Codes are standardised, which lets tiny passive means speak: it shows what they know.
    """
    if codes.factors is None or not dropped:
        return None
    train = min(TRAIN, 2 * codes.n // 3)
    try:
        rows = split(codes, "price", train=train, test=min(TEST, codes.n - train), seed=seed)
    except ShapeError:
        return None
    every = set(range(codes.d))
    used = sorted(every - set(dropped))
    stream = rng(seed, "price")
    count = min(len(dropped), len(used))
    lots = [sorted(every - set(stream.choice(used, count, replace=False))) for _ in range(LOTS)]
    losses = {
        name: _loss(learn, rows, sorted(every), used, lots) for name, learn in LEARNERS.items()
    }
    return Price(losses["linear"], losses["neighbours"], train, len(rows.test.z), rows.train.names)


def _loss(
    learn: Learner, rows: RowSplit, every: list[int], used: list[int], lots: list[list[int]]
) -> Loss:
    before, after = (_right(learn, rows, own) for own in (every, used))
    by_lot = float(np.mean([_right(learn, rows, own).mean() for own in lots]))
    error = float((before - after).std() / np.sqrt(len(before)))
    return Loss(float(before.mean()), float(after.mean()), by_lot, error)


def _right(learn: Learner, rows: RowSplit, latents: list[int]) -> Double:
    """Share of the factors that is predicted right, of each held-out row."""
    x, at = rows.train.z[:, latents], rows.test.z[:, latents]
    pairs = zip(rows.train.factors.T, rows.test.factors.T, strict=True)
    return np.asarray(np.mean([learn(x, y, at) == truth for y, truth in pairs], axis=0))
