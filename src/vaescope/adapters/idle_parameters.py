"""Parameters, buffers and parts that neither encoder nor decoder uses: they may be a prior's, or a
likelihood's. What they are called says something; what they do, or the size of what they give, says
it without a name."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, distributions, nn

from vaescope.adapters.noise import Noise
from vaescope.adapters.tensors import leaves, same

__all__ = [
    "idle_heads", "idle_parameters", "idle_priors", "idle_values", "of_likelihood", "of_prior",
]  # fmt: skip

#: So many are looked at: of more, the model is no VAE with a parameter or two of its own.
MOST = 64
#: Weights of losses, and what is there to know the device.
_OTHERS = re.compile(r"beta|alpha|lambda|weight|step|temp|dummy|device|capacity", re.IGNORECASE)
#: What parts are called, or their classes, that make a prior of another: flows, mixtures, energies.
_PRIORS = re.compile(
    r"prior|flow|realnvp|(^|_)(nvp|maf|iaf|made|glow|nice|ebm|gmm)|coupling|energy|mixture|cluster",
    re.IGNORECASE,
)


#: What parts are called that take latents and give a number and are no energy of a prior.
_JUDGES = re.compile(
    r"disc|critic|advers|pred|regress|class|head|prop|probe|reward|value", re.IGNORECASE
)
Outputs = Callable[[], list[Any]]


def idle_parameters(module: nn.Module | None, outputs: Outputs) -> dict[str, Tensor]:
    """Parameters outside layers of torch that can change without a change in what the model's
    encoder and decoder give."""
    own = [(name, value) for name, value in _own(module) if isinstance(value, nn.Parameter)]
    return {name: value.detach().clone() for name, value in own[:MOST] if _idle([value], outputs)}


def idle_values(module: nn.Module | None, outputs: Outputs) -> dict[str, Tensor]:
    """The same of buffers and of tensors that are plain attributes; not of what the model makes
    anew in every call, nor of zeros, ones and unit matrices, which a N(0, I) may have."""
    own = [(name, value) for name, value in _own(module) if not isinstance(value, nn.Parameter)]
    own = [(name, value) for name, value in own if value.ndim and not _plain(value)][:MOST]
    if not own:
        return {}
    _tensors(outputs)
    kept = {id(value) for _, value in _own(module)}
    return {name: value.detach().clone() for name, value in own
            if id(value) in kept and _idle([value], outputs)}  # fmt: skip


def _plain(value: Tensor) -> bool:
    if value.ndim == 2 and value.shape[0] == value.shape[1]:
        unit = torch.eye(len(value)).to(value)
        if torch.equal(value, unit):
            return True
    return bool((value == 0).all()) or bool((value == 1).all())


def _idle(values: Sequence[Tensor], outputs: Outputs) -> bool:
    """Whether they can change without a change in the outputs."""
    before, kept = _tensors(outputs), [value.detach().clone() for value in values]
    try:
        with torch.no_grad():
            for value in values:
                value.add_(0.5)
        after = _tensors(outputs)
    finally:
        with torch.no_grad():
            for value, old in zip(values, kept, strict=True):
                value.copy_(old)
    return len(before) == len(after) and all(map(same, before, after))


def idle_heads(module: nn.Module | None, outputs: Outputs, latent: int) -> list[str]:
    """Layers as wide as the latents, or halves of layers twice as wide, that can change without a
    change in the outputs: of codes without noise they may be the spread, computed and dropped."""
    found = []
    for name, part in () if module is None else module.named_modules():
        if not isinstance(part, nn.Linear | nn.modules.conv._ConvNd):
            continue
        width = part.out_features if isinstance(part, nn.Linear) else part.out_channels
        rows = {latent: [slice(None)], 2 * latent: [slice(latent, None), slice(latent)]}
        for some in rows.get(width, []) if len(part.weight) == width else []:
            own = [value[some] for value in (part.weight, part.bias) if value is not None]
            if name not in found and _idle(own, outputs):
                found.append(name)
    return found


def idle_priors(
    module: nn.Module | None, outputs: Outputs, latent: int, values: int, whole: Outputs,
) -> list[str]:  # fmt: skip
    """Parts that encoder and decoder do not use, and that may make a prior of another: by what they
    are called, since they map latents to latents (a flow) or to a number (an energy), or since they
    give latents, pairs of means and spreads, or data of `values` values, such as the pseudo-inputs
    of a VampPrior. `whole` runs a pass through the model: what that returns is no energy."""
    parts = [] if module is None else list(module.modules())
    if module is None or any(isinstance(part, torch.jit.ScriptModule) for part in parts):
        return []  # scripted parts take no hooks
    called: set[nn.Module] = set()
    handles = [part.register_forward_pre_hook(lambda part, _: called.add(part))
               for part in parts]  # fmt: skip
    try:
        _tensors(outputs)
    finally:
        for handle in handles:
            handle.remove()
    sizes = {part.in_features for part in called if isinstance(part, nn.Linear)}
    found: list[str] = []
    seen: list[str] = []
    for name, part in _uncalled(module, called):
        if any(name.startswith(f"{outer}.") for outer in found):
            continue
        outermost = not any(name.startswith(f"{outer}.") for outer in seen)
        seen += [name] * _has_forward(part)
        said = _PRIORS.search(name) or any(
            _PRIORS.search(type(inner).__name__) for inner in part.modules()
        )
        made = outermost and (
            _makes_latents(part, latent, values, sizes)
            or (not _JUDGES.search(f"{name} {type(part).__name__}")
                and _maps_latents(part, latent, (1,)) and not _returned(part, whole))
        )  # fmt: skip
        if said or (made and _idle(list(part.parameters()), outputs)):
            found.append(name)
    return found


def _returned(part: nn.Module, whole: Outputs) -> bool:
    """Whether a pass through the model returns what a part gives, such as a prediction."""
    given: list[Tensor] = []
    hook = part.register_forward_hook(lambda _, __, output: given.extend(_inside(output)))
    try:
        returned = _tensors(whole)
    except Exception:  # anybody's code
        return False
    finally:
        hook.remove()
    return any(
        one.numel() == other.numel() and same(one.flatten(), other.flatten())
        for one in given for other in returned
    )  # fmt: skip


def _has_forward(part: nn.Module) -> bool:
    """False of a list of parts, or of a module that only holds some."""
    return type(part).forward is not nn.Module.forward


def _uncalled(module: nn.Module, called: set[nn.Module]) -> Iterator[tuple[str, nn.Module]]:
    for name, part in module.named_modules():
        if name and not called & set(part.modules()) and next(part.parameters(), None) is not None:
            yield name, part


def _makes_latents(part: nn.Module, latent: int, values: int, sizes: set[int]) -> bool:
    """Whether a part gives what a prior is made of. One layer that takes what other layers take is
    another head on these, such as one that the model no longer uses."""
    if not _has_forward(part):
        return False  # its parts are looked at one by one
    if _maps_latents(part, latent, (latent,)):
        return True
    layers = [inner for inner in part.modules() if isinstance(inner, nn.Linear | nn.Embedding)]
    if not layers:
        return False
    first, last = layers[0], layers[-1]
    if isinstance(first, nn.Linear) and first.in_features == values != latent:
        return False  # another encoder
    width = last.out_features if isinstance(last, nn.Linear) else last.embedding_dim
    if isinstance(first, nn.Linear) and width == values:
        return first.in_features != latent  # else another decoder
    if isinstance(part, nn.Linear) and part.in_features in sizes - {latent}:
        return False
    return width in (latent, 2 * latent, values)


def _maps_latents(part: nn.Module, latent: int, event: tuple[int, ...]) -> bool:
    """Whether a part takes latents and gives so many numbers of each first of all."""
    if not _has_forward(part):
        return False
    z = torch.linspace(-1, 1, 4 * latent).reshape(4, latent).to(next(part.parameters()))
    try:
        with Noise(0.0), torch.no_grad():
            outputs = [value for _, value in leaves(part(z))]
    except Exception:  # anybody's code
        return False
    shapes = [(len(z), *event), (len(z),)] if event == (1,) else [(len(z), *event)]
    return bool(outputs) and tuple(outputs[0].shape) in shapes


def _own(module: nn.Module | None) -> Iterator[tuple[str, Tensor]]:
    """Parameters, buffers and tensors among the attributes, outside layers of torch."""
    containers = (nn.ParameterList, nn.ParameterDict)
    for prefix, part in () if module is None else module.named_modules():
        if type(part).__module__.startswith("torch.nn") and not isinstance(part, containers):
            continue
        held = {**dict(part.named_parameters(recurse=False)),
                **dict(part.named_buffers(recurse=False)),
                **{name: value for name, value in vars(part).items()
                   if isinstance(value, Tensor) and value.grad_fn is None}}  # fmt: skip
        for name, value in held.items():
            if value.is_floating_point() and value.numel():
                yield f"{prefix}.{name}" if prefix else name, value


def _tensors(outputs: Callable[[], list[Any]]) -> list[Tensor]:
    with Noise(0.0), torch.no_grad():
        # Copies: what is returned may be a view of a parameter, which is changed next.
        return [tensor.clone() for output in outputs() for tensor in _inside(output)]


def _inside(output: Any) -> Iterator[Tensor]:
    """All tensors of an output; of distributions, their parameters."""
    if isinstance(output, distributions.Distribution):
        for value in vars(output).values():
            yield from _inside(value)
    elif isinstance(output, tuple | list):
        for part in output:
            yield from _inside(part)
    else:
        yield from (tensor for _, tensor in leaves(output))


def of_prior(idle: Mapping[str, Tensor], latent: int, values: int) -> list[str]:
    """Those as wide as the latents, and several of the size of the data: pseudo-inputs, maybe."""
    return [name for name, value in idle.items() if value.ndim and (
        latent in value.shape[-2:]
        or (value.ndim > 1 and len(value) > 1 and value[0].numel() == values)
    )]  # fmt: skip


def of_likelihood(idle: dict[str, Tensor], event: tuple[int, ...]) -> list[str]:
    """Those that could be a scale of all pixels, of each channel, or of each pixel."""
    sizes = (1, event[0], math.prod(event))
    return [name for name, value in idle.items()
            if value.numel() in sizes and not _OTHERS.search(name)]  # fmt: skip
