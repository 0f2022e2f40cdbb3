"""Settings of a perturbation, checked once."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from vaescope.errors import UsageError

__all__ = ["CONTROLS", "EPSILONS", "Kind", "PerturbSettings"]

#: The perturbation, and four controls that share its form: the objective with its sign turned, a
#: scalar of one factor alone, levels of factors in another order, and a network that never learnt.
Kind = Literal["perturbed", "reversed", "one-factor", "relabelled", "untrained"]
CONTROLS: tuple[str, ...] = get_args(Kind)

#: Largest change of a pixel by dataset, as in zietlow2022 section 4.3.3.
EPSILONS = {"dsprites": 0.1, "shapes3d": 0.175}


@dataclass(frozen=True)
class PerturbSettings:
    """What is not the data's and not the pool's.

    Of zietlow2022: 5 samples, 3 batches of the decoders for each step of m, Adam with eps 1e-7, one
    neuron after which m is a decoder. Ours, since it does not say: steps, batch, how w is written,
    equal weights in an ensemble, and a learning rate of 1e-3 where it has 1e-4, with which so few
    steps change little.
    """

    epsilon: float
    kind: Kind = "perturbed"
    pool: int = 16
    ensemble: int = 1
    least_contrast: float = 0.2
    filtered: bool = True  # whether over-pruned models are left out of the selection: ours
    steps: int = 1500
    lr: float = 1e-3
    batch: int = 64
    samples: int = 5
    decoder_batches: int = 3
    hidden: int = 0  # width of a layer before the neuron; 0: none, as printed
    factor: str | None = None  # of the control one-factor
    rms: float | None = None  # size that an untrained network is brought to
    seed: int = 0

    def __post_init__(self) -> None:
        counted = ("pool", "ensemble", "batch", "samples", "decoder_batches")
        counts = {name: getattr(self, name) for name in counted}
        wrong = [f"{name} {value}" for name, value in counts.items() if value < 1]
        wrong += [f"{name} {getattr(self, name)}" for name in ("steps", "hidden", "seed")
                  if getattr(self, name) < 0]  # fmt: skip
        if not 0.0 < self.epsilon <= 1.0:
            wrong.append(f"epsilon {self.epsilon}")
        if self.kind not in CONTROLS:
            wrong.append(f"kind {self.kind}")
        if self.lr <= 0.0 or self.least_contrast < 0.0:
            wrong.append(f"lr {self.lr} and least_contrast {self.least_contrast}")
        if wrong:
            raise UsageError(
                f"A perturbation cannot have {', '.join(wrong)}.",
                f"Epsilon is in (0, 1], counts are 1 or more, kinds are {', '.join(CONTROLS)}.",
            )
        if self.pool < 2 * self.ensemble:
            raise UsageError(
                f"A pool of {self.pool} cannot give {self.ensemble} entangled and "
                f"{self.ensemble} other models.",
                f"Train {2 * self.ensemble} models or more (pool).",
            )
        if (self.factor is not None) != (self.kind == "one-factor"):
            raise UsageError(
                f"kind={self.kind} {'needs a' if self.factor is None else 'takes no'} factor.",
                "kind=one-factor needs the name of a factor; other kinds take none.",
            )
        if self.rms is not None and (self.kind != "untrained" or not 0.0 < self.rms < self.epsilon):
            raise UsageError(
                f"kind={self.kind} with epsilon {self.epsilon:g} cannot have rms={self.rms}.",
                "Only kind=untrained takes an RMS change, and it must be below epsilon.",
            )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
