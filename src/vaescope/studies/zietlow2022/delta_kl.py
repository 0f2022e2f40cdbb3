"""How much of a training is spent in the polarised regime. zietlow2022 section 3.3.2, eq. 3.38."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch

from vaescope.build import build_data, held_out_rows, training_rows
from vaescope.data import Dataset
from vaescope.latents.polarised import DeltaKL, delta_kl
from vaescope.opening import encode
from vaescope.specs import Experiment
from vaescope.sweeps.grid import plan
from vaescope.training.loop import new_state, steps
from vaescope.training.many import stackable, train_many
from vaescope.training.precision import choose
from vaescope.vae import VAE

__all__ = ["LIMIT", "Watched", "share_below", "watched"]

#: The relative error of the KL term that the thesis allows.
LIMIT = 0.03
#: Rows that are encoded at each check.
ROWS = 1000


@final
@dataclass(frozen=True)
class Watched:
    """Delta-KL on the way."""

    deltas: tuple[float, ...]  # at each check
    every: int  # steps between two of them
    end: DeltaKL
    losses: tuple[float, ...] = ()  # mean loss of the steps up to each check

    @property
    def late_fall(self) -> float:
        """How much the loss still fell in the second half: from the tenth of the training that ends
        at its middle to the last tenth, over the latter. Below 0 where it rose."""
        tenth, half = max(1, len(self.losses) // 10), len(self.losses) // 2
        middle, last = self.losses[max(0, half - tenth) : half], self.losses[-tenth:]
        if not middle:
            return float("nan")
        end = sum(last) / len(last)
        return (sum(middle) / len(middle) - end) / abs(end)

    def to_dict(self) -> dict[str, float | int]:
        share = share_below(self.deltas)
        return {
            "share": share,
            "last_above": round((1.0 - share) * len(self.deltas)) * self.every,
            "delta_end": self.end.delta,
            "kl_end": self.end.kl_nats,
            "active_end": self.end.active,
        }


def share_below(deltas: Sequence[float], *, limit: float = LIMIT) -> float:
    """The share of the checks after the last one that is not below the limit.

    >>> share_below([0.5, 0.01, 0.04, 0.02, 0.01])
    0.4
    """
    after = next((i for i, d in enumerate(reversed(deltas)) if not d < limit), len(deltas))
    return after / len(deltas)


def watched(settings: Mapping[str, Any], *, every: int) -> Watched:
    """Trains one experiment and checks Delta-KL every few steps, on rows that it never sees where
    it has a split."""
    (spec,) = plan([{**settings, "logging.every": every}], where="The training that is watched")
    whole = build_data(spec.data)
    data, unseen = training_rows(spec, whole), held_out_rows(spec, whole)
    rows = unseen.sample(ROWS, seed=0)
    found, losses = [], []
    for vae, loss in _checked(spec, data):
        found.append(delta_kl(encode(vae, unseen, index=rows, batch=ROWS)))
        losses.append(loss)
    return Watched(tuple(one.delta for one in found), every, found[-1], tuple(losses))


def _checked(spec: Experiment, data: Dataset) -> Iterator[tuple[VAE, float]]:
    """The model at every record, and the record's loss. Small ones train as a stack of one, whose
    steps may be in C: the thesis' 375,000 then take a minute."""
    if stackable(spec):
        for many in train_many([spec], data, compiled=False):
            if many.records is not None:
                yield many.weights(0), many.records[0].loss
        return
    state = new_state(spec, torch.device("cpu"))
    for record in steps(state, spec, data, choose(spec.precision, state.device, state.vae)):
        if record is not None:
            yield state.vae, record.loss
