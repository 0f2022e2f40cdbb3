"""Models of which only batches are known that go in untouched: tuples, dictionaries, graphs, or
anything else. What is needed is a posterior; what is given back are codes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.adapters.arguments import parameters_of
from vaescope.adapters.asked import Asked
from vaescope.adapters.draws import drawn, trace_forward
from vaescope.adapters.noise import Noise, preserved, sampling
from vaescope.adapters.posterior_format import LAYOUTS, Candidate, Parts, candidates, posterior_of
from vaescope.adapters.posterior_inference import line_of, methods_that_draw, spread_of_draws
from vaescope.adapters.sources import Source, source_of_encoder
from vaescope.adapters.tensors import leaves, same
from vaescope.data.in_memory import dataset_of, factors_of
from vaescope.data.stores import Absent
from vaescope.distributions import DiagonalGaussian, FullGaussian, Point, Reparameterised
from vaescope.encoding import assemble, gathered
from vaescope.errors import ReadingError, UnreadableError, UsageError
from vaescope.models import Inference, OpenModel, device_of, evaluating
from vaescope.priors import StandardNormal, as_prior

__all__ = ["adapt_batches"]

Encode = Callable[[Any], Any]  # of a batch
UNDECODED = (
    "the batches were passed to the model unchanged, so no decoder could be scored on single "
    "examples"
)


def adapt_batches(
    model: Any,
    batches: Sequence[Any],
    *,
    encode: Callable[..., Any] | None = None,
    asked: Asked = Asked(),  # noqa: B008 - frozen
    factors: Any = None,
    name: str | None = None,
    undecoded: str = UNDECODED,
    contract: bool | None = None,
) -> OpenModel:
    """Codes of all batches, each given to `encode`, or to the model's own, untouched.

    `undecoded` says why nothing is decoded; with `contract` a pair is (mean, logvar) where nothing
    tells otherwise, as it is for an `encode` of the user's.

    Rows are what the encoder gives one code for: examples, or nodes of graphs; `factors` has one
    row for each. Raises UnreadableError where no encoder takes a batch, ReadingError where what it
    returns could be read in several ways.
    """
    asked.check()
    source = source_of_encoder(model, encode)
    with evaluating(source.module), preserved(source.module):
        take, layout, spread, why, called = _read(
            source, batches[0], asked, encode is not None if contract is None else contract
        )

        def posteriors() -> Iterator[Reparameterised]:
            for batch in batches:
                yield _distribution(take(batch), spread)

        found = gathered(posteriors(), source.name)
    n, latent = found.mean.shape
    known = None if factors is None else factors_of("your data", factors, None, n)
    data = dataset_of("batches", Absent(n), known)
    prior = _prior(asked, latent)
    rows = np.arange(n)
    codes = assemble(
        data, rows, found.mean, found.variance, covariance=found.covariance,
        prior=prior.density(None), prior_assumed=asked.prior is None,
        spatial=() if found.maps is None else found.maps.shape,
    )  # fmt: skip
    kind = "" if spread == "none" else f",{spread}"
    inferred = [
        Inference("posterior", f"{layout}{kind}", why, asked.posterior is not None),
        Inference("input", "batches as they are", f"{called}; {undecoded}", told=True),
    ]
    name = name or source.name
    return OpenModel(
        name, f"{name} with {latent} latents, your model.", data, rows, _unreachable, _undecoded,
        prior.to(device_of(source.module)), prior_assumed=asked.prior is None, module=source.module,
        inferred=tuple(inferred), undecoded=undecoded, given=(codes, found.maps),
    )  # fmt: skip


def _prior(asked: Asked, latent: int) -> Any:
    return StandardNormal(latent) if asked.prior is None else as_prior(asked.prior, latent)


def _unreachable(x: Tensor, u: Tensor | None = None) -> Any:
    raise UsageError(
        "This model was opened on batches that it takes unchanged; only their codes are known.",
        "Open it again with the batches to encode.",
    )


def _undecoded(z: Tensor) -> Any:
    raise UsageError(
        f"Nothing is decoded here: {UNDECODED}.",
        "Pass an array with one row for each example, and condition= for the model's other inputs.",
    )


def _read(
    source: Source, batch: Any, asked: Asked, contract: bool
) -> tuple[Callable[[Any], Parts], str, str, str, str]:
    """How to take means and spreads from what an encoder returns for a batch: the function, the
    layout, the kind of spread, why, and how the encoder was called."""
    problems: list[str] = []
    doubt: ReadingError | None = None
    for name, encoder in source.encoders:
        for words, call in _ways(encoder, batch):
            try:
                output, again = call(batch), call(batch)
            except Exception as error:  # anybody's code
                problems.append(f"{name}({words}): {line_of(error)}")
                continue
            try:
                found = _posterior(source, name, call, batch, (output, again), asked, contract)
            except ReadingError as error:
                doubt = doubt or error
                continue
            return *found, f"{name}({words})"
    for name, forward in _forwards(source.model):
        for words, call in _ways(forward, batch):
            traced = trace_forward(_ignoring(call), source.model, batch, None)
            posterior = None
            if traced is not None and traced.entry is not None and not traced.several:
                posterior = drawn(traced.sample, batch, batch=True)
            if posterior is not None and posterior.gaussian:
                assert traced is not None
                return (_of_draws(traced.sample), "drawn", "variance",
                        f"{name} draws its latents from it", f"{name}({words})")  # fmt: skip
            problems.append(f"{name}({words}) shows no latents")
    if doubt is not None:
        raise doubt
    wants = parameters_of(source.encoders[0][1]) if source.encoders else None
    names = "" if not wants else f" It takes {', '.join(one.name for one in wants)}."
    raise UnreadableError(
        f"No encoder of {source.name} takes a batch of {_described(batch)} as it is: "
        + "; ".join(problems[:2]) + f".{names}",
        "No interpretation worked. Pass encode= as a function encode(batch) that returns (mean, "
        "logvar), two tensors with one row per example or node.",
        tuple(problems),
    )  # fmt: skip


def _ignoring(call: Encode) -> Callable[[Any, Any], Any]:
    return lambda batch, _: call(batch)


def _forwards(model: Any) -> list[tuple[str, Callable[..., Any]]]:
    if not isinstance(model, nn.Module):
        return []
    found: list[tuple[str, Callable[..., Any]]] = []
    if type(model).forward is not nn.Module.forward:
        found.append(("forward", model))
    if callable(step := getattr(model, "training_step", None)):
        found.append(("training_step", lambda batch: step(batch, 0)))
    return found


def _ways(function: Callable[..., Any], batch: Any) -> Iterator[tuple[str, Encode]]:
    """Ways to give a batch to a function, untouched: whole, its parts by place, or by name."""
    yield "batch", function
    if isinstance(batch, tuple | list):
        for k in range(len(batch), 0, -1):
            words = ", ".join(f"batch[{i}]" for i in range(k))
            yield words, lambda b, k=k: function(*b[:k])  # type: ignore[misc]
    known = parameters_of(function)
    if known is None:  # it takes anything: the encoder inside may say what
        inner = getattr(getattr(function, "__self__", None), "encoder", None)
        known = parameters_of(inner) if inner is not None else None
    empty = [one.name for one in known or [] if one.default is one.empty]
    held = [one.name for one in known or [] if _get(batch, one.name) is not None]
    if held and set(empty) <= set(held):
        words = ", ".join(f"batch.{name}" for name in held)
        yield words, lambda b: function(*(_get(b, name) for name in held))
    if isinstance(batch, Mapping):
        yield "**batch", lambda b: function(**b)


def _get(batch: Any, name: str) -> Any:
    if isinstance(batch, Mapping):
        return batch.get(name)
    return None if isinstance(batch, tuple | list | Tensor) else getattr(batch, name, None)


def _posterior(
    source: Source, name: str, call: Encode, batch: Any, outputs: tuple[Any, Any], asked: Asked,
    contract: bool,
) -> tuple[Callable[[Any], Parts], str, str, str]:  # fmt: skip
    """What one output is; what is drawn settles it, then names, then the contract of encode=."""
    sample = _sampler(source, call, batch)
    posterior = None if sample is None else drawn(sample, batch, batch=True)
    found = [one for one in candidates(*outputs) if _fits(one.take(outputs[0]), asked, one)]
    if posterior is not None:
        for one in found:
            parts = one.take(outputs[0])
            kind = spread_of_draws(parts, posterior, one.kind, told=False)
            if kind is not None:
                return (_after(call, one), one.layout, kind,
                        f"{LAYOUTS[one.layout]}; {name} draws its samples from it")  # fmt: skip
        if posterior.gaussian and sample is not None:
            return (_of_draws(sample), "drawn", "variance",
                    f"{LAYOUTS['drawn']}: {name} shows means and variances")  # fmt: skip
    for one in found:
        parts = one.take(outputs[0])
        kind = asked.spread() or one.kind
        if kind is None and one.layout == "pair":
            kind = next(
                (
                    k
                    for draw in methods_that_draw(source, parts)
                    if (k := spread_of_draws(parts, draw.posterior, None, told=False))
                ),
                None,
            )
            kind = kind or ("logvar" if contract else None)
        if kind is not None and parts.spread is not None:
            why = "by the documented form of encode=" if contract and not one.kind else "it says so"
            return _after(call, one), one.layout, kind, f"{LAYOUTS[one.layout]}; {why}"
    means = [one for one in found if one.layout in ("mean", "named")]
    if means and (asked.posterior == "mean" or not [o for o in found if o.layout == "pair"]):
        if asked.posterior != "mean" and _stochastic(source):
            raise ReadingError(
                f"{name} returns no spread; {source.name} does not show how it draws latents.",
                "Pass posterior=mean for codes without noise, or encode= as a function "
                "encode(batch) that returns (mean, logvar).",
            )
        return _after(call, means[0]), means[0].layout, "none", "means only, without noise"
    raise ReadingError(
        f"{name} returns {_described(outputs[0])}; nothing draws from it, so its second part "
        "may be log variances or standard deviations.",
        "Choose with posterior=, e.g. pair,logvar or pair,std, or pass encode= as a function "
        "encode(batch) that returns (mean, logvar).",
    )


def _stochastic(source: Source) -> bool:
    """Whether a model has a method that draws."""
    names = dir(type(source.model))
    return any("reparam" in name.lower() for name in names)


def _fits(parts: Parts, asked: Asked, one: Candidate) -> bool:
    mean = parts.mean
    shaped = mean.is_floating_point() and mean.ndim > 1
    spread = parts.spread is None or parts.spread.shape == mean.shape
    return shaped and spread and asked.layout() in (None, one.layout)


def _sampler(source: Source, call: Encode, batch: Any) -> Callable[..., Tensor] | None:
    """The samples among what an encoder returns, which change with the noise."""
    try:
        with sampling(source.module):
            with Noise(0.0):
                zero = dict(leaves(call(batch)))
            with Noise(1.0):
                one = dict(leaves(call(batch)))
    except Exception:  # anybody's code
        return None
    moved = [path for path, z in zero.items()
             if path in one and z.shape == one[path].shape and not same(z, one[path])]  # fmt: skip
    if not moved:
        return None

    def sample(b: Any, _: Any = None) -> Tensor:
        with sampling(source.module):
            return dict(leaves(call(b)))[moved[0]]

    return sample


def _after(call: Encode, one: Candidate) -> Callable[[Any], Parts]:
    return lambda batch: one.take(call(batch))


def _of_draws(sample: Callable[..., Tensor]) -> Callable[[Any], Parts]:
    def take(batch: Any) -> Parts:
        with Noise(0.0):
            mean = sample(batch, None)
        with Noise(1.0):
            std = sample(batch, None) - mean
        return Parts(mean, std.square())

    return take


def _distribution(parts: Parts, spread: str) -> Reparameterised:
    q = posterior_of(parts, spread)
    if q.covariance is not None:
        return FullGaussian(q.mean, torch.linalg.cholesky(q.covariance).to(q.mean))
    return Point(q.mean) if parts.spread is None else DiagonalGaussian(q.mean, q.variance.log())


def _described(batch: Any) -> str:
    if isinstance(batch, Tensor):
        return f"shape {tuple(batch.shape)}"
    if isinstance(batch, Mapping):
        return f"{type(batch).__name__} with {', '.join(map(str, batch))}"
    if isinstance(batch, tuple | list):
        return f"{type(batch).__name__} of {', '.join(map(_described, batch))}"
    return type(batch).__name__
