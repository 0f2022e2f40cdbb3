"""Other people's models as vaescope dissects them: any module, pair of functions, pythae,
diffusers, scikit-learn. What is not told is inferred, said, and can be overridden."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from vaescope.adapters.decoding import OUTPUTS, likelihood
from vaescope.adapters.model import Inference, Model, Posterior
from vaescope.adapters.outputs import LAYOUTS, decoded, posterior_of
from vaescope.adapters.readings import Asked, Reading, choose
from vaescope.adapters.sources import Source, source_of
from vaescope.adapters.ways import images_of
from vaescope.distributions import Distribution
from vaescope.errors import UsageError

__all__ = ["Asked", "Inference", "Model", "Posterior", "adapt"]

#: Images that readings are tried on, and the most pixels that these may have together.
PROBES = 256
PROBE_PIXELS = 2**22


def adapt(
    model: Any = None,
    x: Tensor | None = None,
    *,
    encode: Callable[[Tensor], Any] | None = None,
    decode: Callable[[Tensor], Any] | None = None,
    asked: Asked = Asked(),  # noqa: B008 - frozen
    name: str | None = None,
) -> Model:
    """Reads a model by trying it on some data `x`: float tensors, images NCHW in [0, 1].

    Raises UsageError where no reading works, or where two work equally well.
    """
    if x is None or x.ndim < 2 or len(x) < 2:
        raise UsageError("To read a model takes at least two examples.", "Pass images.")
    source = source_of(model, encode, decode)
    bare = Model(source.name, _unread, _unread, _unread, source.module, ())
    parts = [] if source.module is None else source.module.modules()
    # Of the parts only: a list of modules is in training mode whatever they are in.
    was_training = any(part.training for part in parts if not list(part.children()))
    probes = min(PROBES, max(2, PROBE_PIXELS // x[0].numel()))
    with bare.evaluating():
        reading, tried = choose(source, x[:probes].to(bare.device), asked)
    inferred = tuple(_inferred(reading, tried, source, asked, was_training, images_of(x)))
    return Model(
        name or source.name, _encode(reading), _raw(reading, tuple(x.shape[1:])),
        _likelihood(reading, source), source.module, inferred, source.scaling,
    )  # fmt: skip


#: What the values of a spread cannot tell.
_LOOKALIKES = {
    "logvar": ", of which logstd could not be told",
    "std": ", of which variance could not be told",
}


def _unread(_: Tensor) -> Any:
    raise AssertionError("a model is read before it is used")


def _encode(reading: Reading) -> Callable[[Tensor], Posterior]:
    def encode(x: Tensor) -> Posterior:
        return posterior_of(reading.candidate.take(reading.way(x)), reading.spread)

    return encode


def _raw(reading: Reading, event: tuple[int, ...]) -> Callable[[Tensor], Tensor]:
    return lambda z: decoded(reading.decoder[1](z), event)


def _likelihood(reading: Reading, source: Source) -> Callable[[Tensor], Distribution]:
    meaning, output_range = reading.output, reading.output_range
    return lambda y: likelihood(y, meaning, output_range, source.likelihood)


def _inferred(
    reading: Reading, tried: int, source: Source, asked: Asked, was_training: bool, images: bool
) -> list[Inference]:
    among = f"of {tried} readings tried it reconstructs best" if tried > 1 else "no other one works"
    error = f"{among}, with an error {reading.error:.3g} times a constant image's"
    spread = "" if reading.spread == "none" else f",{reading.spread}"
    why = f"{LAYOUTS[reading.layout]}; {error}"
    if spread:
        why += f"; spreads are from {reading.spreads[0]:.3g} to {reading.spreads[1]:.3g}"
        if reading.candidate.kind is None and asked.spread() is None:
            why += _LOOKALIKES[reading.spread]
    seen = f"outputs are from {reading.seen[0]:.3g} to {reading.seen[1]:.3g}"
    out = f"{OUTPUTS[reading.output]}; {seen}"
    low, high = reading.value_range
    found = [
        Inference("posterior", f"{reading.layout}{spread}", why, asked.posterior is not None),
        Inference("output", reading.output, out, asked.output is not None),
    ]
    if images:
        told = asked.value_range is not None or source.range is not None
        why = source.says or ("as you said" if asked.value_range else error)
        if reading.output_range != reading.value_range:
            why += (
                f"; its outputs are in [{reading.output_range[0]:g}, {reading.output_range[1]:g}]"
            )
        found.append(Inference("value_range", f"{low:g},{high:g}", why, told))
    if reading.candidate.family:
        found.append(
            Inference("family", "gaussian", f"the posterior is a {reading.candidate.family}, of "
                      "which mean and variance are taken; its KL and its samples are those of a "
                      "Gaussian", told=True)
        )  # fmt: skip
    form = reading.way.form
    if form != "as they are":
        found.append(Inference("input", form, "the encoder takes images only so", told=True))
    if was_training:
        found.append(
            Inference("mode", "eval", "the model came in training mode, in which dropout and batch "
                      "norm change its codes; it was put back afterwards", told=True)
        )  # fmt: skip
    if reading.error > 1:
        found.append(
            Inference("reconstruction", "poor", f"{error}: either the model is untrained or "
                      f"collapsed, or these are not its data, or its output means something else "
                      f"({seen}); say so "
                      "with output= and value_range=", told=True)
        )  # fmt: skip
    return found
