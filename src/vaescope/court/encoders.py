"""Codes made from the factors by hand, and which properties of a perfect code each one breaks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from vaescope.codes import Codes
from vaescope.court.generators import FactorDraw
from vaescope.types import Matrix

__all__ = ["ENCODERS", "PROPERTIES", "CodeMaker", "codes_of"]


#: What a perfect code has. A metric asks for some of them (`promises.ASKS`).
PROPERTIES = {
    "modular": "a latent that encodes anything encodes one factor",
    "compact": "one latent encodes a factor, and no other does",
    "alone": "some single latent determines a factor",
    "linear": "a factor is a linear function of its latent",
    "explicit": "a linear classifier predicts each factor from all latents",
    "informative": "all latents together determine each factor",
    "ordered": "a latent is a monotonic function of its factor's value",
    "even": "and its steps are even",
    "lean": "there are as many latents as factors",
}

#: Posterior variance of latents that are used, and noise of their means: a tenth of a step.
_NARROW, _NOISE = 0.01, 0.1


@dataclass(frozen=True, eq=False)
class Posteriors:
    """What an encoder makes of a draw."""

    mean: Matrix
    variance: Matrix


@dataclass(frozen=True)
class CodeMaker:
    """One line about it, what it breaks and why, and how it encodes."""

    says: str
    breaks: frozenset[str]
    why: str
    encode: Callable[[np.random.Generator, Matrix], Posteriors]
    supervised: bool = False


def _narrow(mean: Matrix) -> Posteriors:
    return Posteriors(mean, np.full(mean.shape, _NARROW))


def _with(mean: Matrix, more: Matrix, variance: float) -> Posteriors:
    return Posteriors(
        np.hstack([mean, more]),
        np.hstack([np.full(mean.shape, _NARROW), np.full(more.shape, variance)]),
    )


def _rotated(degrees: float) -> Callable[[np.random.Generator, Matrix], Posteriors]:
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def encode(rng: np.random.Generator, z: Matrix) -> Posteriors:
        del rng
        turned = z - z.mean(axis=0)
        pair = slice(0, 2) if z.shape[1] == 3 else slice(-2, None)  # an angle's own two may turn
        turned[:, pair] = turned[:, pair] @ turn
        return _narrow(turned)

    return encode


def _split(rng: np.random.Generator, z: Matrix) -> Posteriors:
    del rng
    at = 0 if z.shape[1] == 3 else z.shape[1] - 1  # an angle is in two latents already
    middle = np.median(z[:, at])
    low, high = np.minimum(z[:, at], middle), np.maximum(z[:, at], middle)
    return _narrow(np.column_stack([low, high, np.delete(z, at, axis=1)]))


def _merged(rng: np.random.Generator, z: Matrix) -> Posteriors:
    del rng
    # Steps of the first are larger than the whole range of the second: both can be read back.
    at = 0 if z.shape[1] == 3 else z.shape[1] - 2
    both = np.round(z[:, at]) * (np.ptp(z[:, at + 1]) + 1.0) + z[:, at + 1]
    return _narrow(np.column_stack([both, np.delete(z, [at, at + 1], axis=1)]))


def _mixed(rng: np.random.Generator, z: Matrix) -> Posteriors:
    used = rng.random(len(z)) < 0.3
    extra = np.where(used[:, None], z[:, :1] - z[:, :1].mean(), 0.0)
    found = _with(z, extra, 1.0)
    found.variance[used, -1] = _NARROW
    return found


def _nothing(rng: np.random.Generator, z: Matrix) -> Posteriors:
    return _narrow(rng.normal(size=z.shape))


_ALL = frozenset(set(PROPERTIES) - {"lean"})

ENCODERS: Mapping[str, CodeMaker] = {
    "identity": CodeMaker(
        "each factor in a latent of its own", frozenset(), "perfect where factors are independent",
        lambda rng, z: _narrow(z),
    ),
    "permuted": CodeMaker(
        "the same in another order, some with their sign changed", frozenset(),
        "order and sign of latents mean nothing",
        lambda rng, z: _narrow(
            z[:, rng.permutation(z.shape[1])] * rng.choice([-1.0, 1.0], size=z.shape[1])
        ),
    ),
    "scaled": CodeMaker(
        "each latent multiplied by a number between a half and two", frozenset(),
        "no definition depends on the unit of a latent",
        lambda rng, z: _narrow(z * np.exp2(rng.uniform(-1.0, 1.0, size=z.shape[1]))),
    ),
    "warped": CodeMaker(
        "each latent cubed, from 0 upwards", frozenset({"linear", "even"}),
        "the information and its order remain; the steps are uneven",
        lambda rng, z: _narrow(np.power((z - z.min(axis=0)) / np.ptp(z, axis=0), 3.0) * 4.0),
    ),
    "rotated 10": CodeMaker(
        "two latents rotated by 10 degrees", frozenset({"modular", "compact", "alone", "linear"}),
        "each of the two encodes a little of the other's factor", _rotated(10.0),
    ),
    "rotated 45": CodeMaker(
        "two latents rotated by 45 degrees", frozenset({"modular", "compact", "alone", "linear"}),
        "both encode both factors alike", _rotated(45.0),
    ),
    "split": CodeMaker(
        "the lower and the upper half of a factor in two latents",
        frozenset({"compact", "alone", "linear", "lean"}), "neither latent encodes the other half",
        _split,
    ),
    "duplicated": CodeMaker(
        "each latent twice", frozenset({"compact", "lean"}), "two latents encode the same factor",
        lambda rng, z: _narrow(np.hstack([z, z])),
    ),
    "merged": CodeMaker(
        "two factors in the digits of one latent",
        frozenset({"modular", "explicit", "linear"}),
        "one latent encodes both; a linear function recovers only the first", _merged,
    ),
    "dead": CodeMaker(
        "with two constant latents", frozenset({"lean"}), "a constant encodes nothing",
        lambda rng, z: _with(z, np.zeros((len(z), 2)), 1.0),
    ),
    "passive": CodeMaker(
        "with two passive latents, whose means follow two factors by a thousandth",
        frozenset({"lean"}), "their samples follow the prior; their means are a useless copy",
        lambda rng, z: _with(z, 1e-3 * (z[:, :2] - z[:, :2].mean(axis=0)), 1.0),
    ),
    "mixed": CodeMaker(
        "with a latent that copies a factor in three rows of ten",
        frozenset({"compact", "lean"}), "a second latent encodes the factor for some rows", _mixed,
    ),
    "noise": CodeMaker(
        "with three latents of noise", frozenset({"lean"}), "noise encodes nothing",
        lambda rng, z: _with(z, rng.normal(size=(len(z), 3)), _NARROW),
    ),
    "fewer": CodeMaker(
        "without a latent for the third factor",
        frozenset({"informative", "explicit", "alone", "linear", "ordered", "even"}),
        "nothing encodes the third factor", lambda rng, z: _narrow(z[:, :-1]),
    ),
    "leak": CodeMaker(
        "the identity, by an encoder that saw the factors", frozenset(),
        "the code is as good; the protocol says that the encoder saw the factors",
        lambda rng, z: _narrow(z), supervised=True,
    ),
    "nothing": CodeMaker("noise alone", _ALL, "nothing encodes any factor", _nothing),
}  # fmt: skip


def codes_of(encoder: CodeMaker, drawn: FactorDraw, rng: np.random.Generator) -> Codes:
    """The codes of a draw: means with noise of a tenth of a step, samples, factors."""
    z = drawn.values - 0.5 if drawn.continuous else drawn.values  # a class is what rounds to it
    if drawn.cyclic:
        angle = 2.0 * np.pi * drawn.values[:, :1] / 8.0
        z = np.hstack([2.0 * np.cos(angle), 2.0 * np.sin(angle), z[:, 1:]])
    noise = 0.0 if drawn.continuous else _NOISE
    found = encoder.encode(rng, z + noise * rng.normal(size=z.shape))
    sample = found.mean + np.sqrt(found.variance) * rng.normal(size=found.mean.shape)
    codes = Codes(
        found.mean, found.variance, sample, factors=drawn.classes,
        factor_names=("first", "second", "third"), supervised=encoder.supervised,
    )  # fmt: skip
    return replace(codes, factor_values=drawn.values) if drawn.continuous else codes
