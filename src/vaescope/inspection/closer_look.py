"""Diagnostics of a thorough dissection, each with a sentence that says what it means for the user.

zietlow2022: Delta_KL (section 3.3.2), the precision budget (3.2.4), the price of a rotation
(Proposition 3), the data's own bias and polar codes (chapter 4), self-consistency (7.6).
bhowal2024: parts of the reconstruction loss (Proposition 1), the encoder's side (Lemma 2).
mathieu2019: overlap (section 3.1).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from vaescope.codes import Codes
from vaescope.decomposition.overlap import END, Overlap, State
from vaescope.distributions import Distribution
from vaescope.errors import ShapeError, VaescopeError
from vaescope.geometry.budget import precision_budget
from vaescope.geometry.data_bias import data_bias
from vaescope.geometry.local_encoder import local_encoder
from vaescope.geometry.polar import Coordinates, coordinate_systems
from vaescope.geometry.reconstruction import reconstruction_parts
from vaescope.geometry.rotation import elbo_under_rotation, random_rotations
from vaescope.geometry.self_consistency import self_consistency
from vaescope.latents import types
from vaescope.latents.polarised import delta_kl
from vaescope.models import OpenModel
from vaescope.types import Integers
from vaescope.wording import listed

__all__ = ["DIAGNOSTICS", "CloserLook", "Diagnostic", "closer_look", "overlap_to_dict"]

#: Rows of the parts that decode many draws of each.
ROWS = 64
#: Rows at which Jacobians of encoder and decoder are taken.
POINTS = 24
ROTATIONS, DRAWS = 4, 8
#: Latents whose pairs are tried for polar coordinates, those with the largest KL first.
PAIRED = 6


@dataclass(frozen=True)
class Diagnostic:
    """One number and what it means."""

    name: str
    value: float | None
    interval: tuple[float, float] | None
    n: int
    says: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "value": self.value, "n": self.n, "says": self.says,
            "interval": None if self.interval is None else list(self.interval),
        }  # fmt: skip


@dataclass(frozen=True)
class CloserLook:
    """Diagnostics by name, and why others are missing."""

    found: Mapping[str, Diagnostic]
    skipped: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Every name; null where it is in `skipped`."""
        return {
            name: self.found[name].to_dict() if name in self.found else None for name in DIAGNOSTICS
        }


@dataclass(frozen=True, eq=False)
class _Seen:
    """What the diagnostics look at."""

    model: OpenModel
    used: list[int]

    @property
    def codes(self) -> Codes:
        return self.model.codes

    @property
    def few(self) -> Integers:
        return np.unique(np.linspace(0, self.codes.n - 1, ROWS).astype(np.int64))

    def decode(self, z: Tensor) -> Distribution:
        return self.model.decode(z.float().to(self.model.device), None)


def closer_look(model: OpenModel) -> CloserLook:
    """All diagnostics that the model and its data allow."""
    kinds = types(model.codes).names if model.codes.stochastic else ("active",) * model.codes.d
    seen = _Seen(model, [j for j, name in enumerate(kinds) if name != "passive"])
    found: dict[str, Diagnostic] = {}
    skipped: dict[str, str] = {}
    for name, look in DIAGNOSTICS.items():
        try:
            found[name] = look(seen)
        except VaescopeError as error:
            skipped[name] = error.message
        except (RuntimeError, NotImplementedError) as error:
            # Anybody's model: what it cannot do is left out, with the reason.
            skipped[name] = (str(error) or type(error).__name__).splitlines()[0]
    return CloserLook(found, skipped)


def overlap_to_dict(found: Overlap | None, rows: int = 0) -> dict[str, Any] | None:
    """In the shape of the interface, with the verdict of two ends that the study
    mathieu2019/overlap put to the test; of all `rows` of the data, where fewer were encoded."""
    if found is None:
        return None
    rows = max(rows, found.n)
    return {
        "effective_number": found.effective_number,
        "bhattacharyya": found.bhattacharyya,
        "n": found.n,
        "rows": rows,
        "among_rows": found.among(rows),
        "verdict": found.state_among(rows),
        "says": _overlap_says(found, rows),
    }


_STATES: Mapping[State, str] = {
    "lookup table": f"fewer than {END:g}: a lookup table. In such models images that were not "
    "trained on were reconstructed a quarter worse or more",
    "appropriate": f"at least {END:g} and no more than one in {END:g}: neither a lookup table, "
    "which reconstructs new data worse, nor codes that are lost",
    "lost": f"more than one in {END:g}: the codes are lost. In such models reconstructions were "
    "hardly better than the mean image",
}


def _overlap_says(found: Overlap, rows: int) -> str:
    whole = f", about {found.among(rows):,.3g} of all {rows:,}" if rows > found.n else ""
    return (
        f"{found.effective_number:.3g} of {found.n:,} data points share a code{whole} (pairs "
        f"overlap by {found.bhattacharyya:.2g}), {_STATES[found.state_among(rows)]} (study "
        "mathieu2019/overlap: small models of two datasets). Training data that are not among "
        "these rows would share codes too. Which overlap is best is not known."
    )


def _standing(seen: _Seen, *, decodes: bool = True) -> None:
    """Refuses what the looks below cannot take."""
    if not seen.codes.stochastic:
        raise ShapeError("the posterior has no noise", "Use a VAE.")
    if seen.model.maps is not None:
        raise ShapeError("latents are maps", "Use a model whose latents are vectors.")
    if decodes and seen.model.auxiliary is not None:
        raise ShapeError("the model takes more than x", "Use a model without a condition.")
    if not seen.used:
        raise ShapeError("all latents are passive", "Train with a smaller beta.")


def _delta_kl(seen: _Seen) -> Diagnostic:
    _standing(seen, decodes=False)
    rates = delta_kl(seen.codes)
    holds = "is reached" if rates.delta < 0.03 else "is not reached"
    return Diagnostic(
        "delta_kl", rates.delta, None, rates.n,
        f"The rate differs by {rates.delta:.1%} from what its {rates.active} active latents alone "
        f"would cost ({rates.kl_nats:.3g} and {rates.approximate_kl_nats:.3g} nats): the "
        f"polarised regime, for which statements about a VAE's axes are derived, {holds} "
        "(limit 3%, as in zietlow2022).",
    )  # fmt: skip


def _precision_budget(seen: _Seen) -> Diagnostic:
    _standing(seen)
    few, codes = seen.few, seen.codes
    budget = precision_budget(
        seen.model.decoder, codes.mean[few], codes.variance[few],
        likelihood=seen.model.likelihood, columns=seen.used,
    )  # fmt: skip
    if not budget.n:
        raise ShapeError("no point has a Jacobian of full rank", "Drop passive latents.")
    return Diagnostic(
        "precision_budget", budget.value, budget.interval, budget.n,
        f"The posterior's noise costs {budget.value:.2f} times the minimum at the same precision: "
        "at 1 each used latent is as precise as the decoder needs. Axes rotated to be orthogonal "
        f"would save a further factor of {budget.rotation.value:.2f}.",
    )  # fmt: skip


def _reconstruction_parts(seen: _Seen) -> Diagnostic:
    _standing(seen)
    few, codes = seen.few, seen.codes
    parts = reconstruction_parts(
        lambda z: seen.decode(z).mean, seen.model.data.rows(seen.model.rows[few]),
        codes.mean[few], codes.variance[few], draws=4 * DRAWS,
    )  # fmt: skip
    total = parts.total.value or 1.0
    return Diagnostic(
        "reconstruction_parts", parts.value, parts.interval, parts.n,
        f"Of the squared error of samples {parts.deterministic.value / total:.0%} arises at the "
        f"posterior mean and {parts.stochastic.value / total:.0%} from its noise; "
        f"{parts.value:+.1%} is their cross term, which bhowal2024 assumes to be 0: far from 0, "
        "the decoder is curved within the noise, and linear statements about it do not hold.",
    )  # fmt: skip


def _rotation_price(seen: _Seen) -> Diagnostic:
    _standing(seen)
    codes, used = seen.codes, seen.used
    if not codes.prior.standard:
        raise ShapeError(f"the prior is {codes.prior.says}, not N(0, I)", "Use another model.")
    if len(used) < 2:
        raise ShapeError("fewer than two latents are used", "Train with a smaller beta.")
    few = seen.few
    chosen = Codes(codes.mean[few], codes.variance[few], codes.sample[few])
    rotations = np.broadcast_to(np.eye(codes.d), (ROTATIONS, codes.d, codes.d)).copy()
    rotations[np.ix_(range(ROTATIONS), used, used)] = random_rotations(len(used), ROTATIONS)
    price = elbo_under_rotation(
        seen.decode,
        seen.model.x(seen.model.rows[few]),
        chosen,
        rotations=rotations,
        draws=DRAWS,
    )
    return Diagnostic(
        "rotation_price", price.value, price.interval, price.n,
        f"A random rotation of the used latents would cost {price.value:.3g} nats of ELBO per "
        "example: this is how strongly the model prefers its axes. Near 0 the axes are arbitrary, "
        "and another seed may find others.",
    )  # fmt: skip


def _self_consistency(seen: _Seen) -> Diagnostic:
    _standing(seen)
    misses = self_consistency(
        lambda x: seen.model.encode(x).mean, seen.decode, seen.codes.sample[seen.few],
        columns=seen.used,
    )  # fmt: skip
    return Diagnostic(
        "self_consistency", misses.value, misses.interval, misses.n,
        f"A code that is decoded and encoded again is off by {misses.value:.1%} of its variance: "
        "at 0 the encoder inverts the decoder, so edits of codes survive; near 100% the two do "
        "not match.",
    )  # fmt: skip


def _local_encoder(seen: _Seen) -> Diagnostic:
    _standing(seen)
    few = np.linspace(0, seen.codes.n - 1, min(POINTS, seen.codes.n)).astype(np.int64)
    with seen.model.evaluating(gradients=True):
        aligned = local_encoder(
            lambda x: seen.model.encode(x).mean, lambda z: seen.decode(z).mean,
            seen.model.x(seen.model.rows[few]), columns=seen.used,
        )  # fmt: skip
    if not aligned.n:
        raise ShapeError("no point has Jacobians of full rank", "Drop passive latents.")
    return Diagnostic(
        "local_encoder", aligned.value, aligned.interval, aligned.n,
        f"Of the directions to which the encoder responds {aligned.value:.0%} are those in which "
        f"the decoder moves (chance {aligned.chance:.0%}): the others change codes without a "
        "change in what is decoded. bhowal2024 assumes that the two are inverse to each other; a "
        "small step of the decoder, encoded again, has a relative squared error of "
        f"{aligned.inversion.value:.2g}.",
    )  # fmt: skip


def _data_bias(seen: _Seen) -> Diagnostic:
    data = seen.model.data
    if data.factors is None:
        raise ShapeError("the factors are not known", "Use data with factors.")
    bias = data_bias(data.rows, data.factors.classes(np.arange(len(data))), points=20)
    if not bias.defined:
        raise ShapeError(bias.summary(), "Use data whose factors have steps.")
    return Diagnostic(
        "data_bias", bias.value, bias.interval, bias.n,
        f"Factors move the data {bias.value:.0f} degrees off its local principal directions "
        f"(mixtures of factors {bias.chance.value:.0f}): the nearer to 0, the more of a VAE's "
        "disentanglement is due to the data and not to the method.",
    )  # fmt: skip


def _coordinates(seen: _Seen) -> Diagnostic:
    if seen.codes.factors is None and seen.codes.factor_values is None:
        raise ShapeError("the factors are not known", "Use data with factors.")
    order = np.argsort(seen.codes.variance.mean(axis=0))
    chosen = [int(j) for j in order if int(j) in seen.used][:PAIRED]
    if len(chosen) < 2:
        raise ShapeError("fewer than two latents are used", "Train with a smaller beta.")
    systems = coordinate_systems(seen.codes, latents=chosen)
    polar = [one for one in systems if one.kind == "polar"]
    known = seen.codes.factor_names

    def encoded(one: Coordinates) -> str:
        angle, radius = (known[k] if known else f"factor {k}" for k in one.factors)
        first, second = one.latents
        return f"{first} and {second} encode {angle} as their angle and {radius} as their radius"

    pairs = listed([encoded(one) for one in polar])
    says = (
        f"Latents {pairs}: metrics that look at axes call that entangled, though it is as easy to "
        "decode."
        if polar
        else "No two of the used latents encode factors as angle and radius, so no score is low "
        "for that reason."
    )
    return Diagnostic(
        "coordinates", max(one.value for one in systems), None, len(systems),
        f"{says} ({len(systems)} pairs; the value is what polar axes explain beyond straight "
        "ones).",
    )  # fmt: skip


#: What is looked at, by its name in the JSON.
DIAGNOSTICS: Mapping[str, Callable[[_Seen], Diagnostic]] = {
    "delta_kl": _delta_kl,
    "precision_budget": _precision_budget,
    "reconstruction_parts": _reconstruction_parts,
    "rotation_price": _rotation_price,
    "self_consistency": _self_consistency,
    "local_encoder": _local_encoder,
    "data_bias": _data_bias,
    "coordinates": _coordinates,
}
