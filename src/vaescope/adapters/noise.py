"""Randomness of other people's code, replaced: every draw becomes what is asked for.

A posterior that is sampled as z = mean + std * eps shows its mean where eps is 0 and its standard
deviation where eps is 1, however the model keeps them.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["Noise", "preserved", "sampling"]

_aten = torch.ops.aten
#: Draws of one call of a model. Rejection samplers never end where their noise is fixed.
MOST = 1000


class Noise(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While entered, standard normal draws are `value`, or come from `generator` where there is
    one. Uniform draws are at the same quantile; dropout keeps everything."""

    def __init__(self, value: float = 0.0, generator: torch.Generator | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.value, self.generator = value, generator
        self.drawn: list[Tensor] = []  # standard normal, in the order of the draws

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        replacement = _REPLACED.get(func)
        if replacement is None:
            return func(*args, **(kwargs or {}))
        return replacement(self, func, args, kwargs or {})

    def standard(self, like: Tensor) -> Tensor:
        """Noise in the shape, precision and place of a tensor."""
        if self.generator is None:
            eps = torch.full_like(like, self.value)
        else:
            eps = torch.randn(like.shape, generator=self.generator).to(like)
        self.drawn.append(eps)
        if len(self.drawn) > MOST:
            raise RuntimeError(
                f"more than {MOST} draws: probably a loop that repeats until the noise changes"
            )
        return eps


def _fresh(noise: Noise, func: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """randn and randn_like: the shape is what they would have made."""
    return noise.standard(func(*args, **kwargs))


def _normal(noise: Noise, func: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """torch.normal(mean, std)."""
    mean, std = args[0], args[1] if len(args) > 1 else 1.0
    return mean + std * noise.standard(func(*args, **kwargs))


def _normal_in_place(noise: Noise, func: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    target, mean, std = (*args, 0.0, 1.0)[:3] if len(args) < 3 else args[:3]
    if len(args) == 2:
        std = kwargs.get("std", 1.0)
    return target.copy_(kwargs.get("mean", mean) + kwargs.get("std", std) * noise.standard(target))


def _quantile(noise: Noise, like: Tensor) -> Tensor:
    quantile: Tensor = torch.special.ndtr(noise.standard(like))
    return quantile


def _uniform_in_place(noise: Noise, func: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    target, low, high = (*args, *(0.0, 1.0)[len(args) - 1 :])[:3]
    low, high = kwargs.get("from", low), kwargs.get("to", high)
    return target.copy_(low + (high - low) * _quantile(noise, target))


def _uniform(noise: Noise, func: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    return _quantile(noise, func(*args, **kwargs))


def _kept(noise: Noise, func: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """The mask of a dropout in which nothing is dropped, times what makes up for that."""
    target = args[0]
    return target.fill_(args[1] if len(args) > 1 else 1.0)


def _no_dropout(noise: Noise, func: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    return args[0].clone(), torch.ones_like(args[0], dtype=torch.bool)


_REPLACED: Mapping[Any, Callable[[Noise, Any, tuple[Any, ...], Any], Any]] = {
    _aten.randn.default: _fresh,
    _aten.randn.generator: _fresh,
    _aten.randn_like.default: _fresh,
    _aten.normal_.default: _normal_in_place,
    _aten.normal.Tensor_Tensor: _normal,
    _aten.normal.Tensor_float: _normal,
    _aten.normal.float_Tensor: _normal,
    _aten.normal.float_float: _normal,
    _aten.uniform_.default: _uniform_in_place,
    _aten.rand.default: _uniform,
    _aten.rand_like.default: _uniform,
    _aten.bernoulli_.float: _kept,
    _aten.native_dropout.default: _no_dropout,
}

#: Layers that behave otherwise in training, beside drawing z, whoever derived a class of them.
_STEADY = (nn.modules.batchnorm._NormBase, nn.modules.dropout._DropoutNd)


def _draws_nothing(part: nn.Module) -> bool:
    """Whether a part is a layer of torch: none of these draws z in training, and some do other
    things there, such as spectral norm, whose weights change with every call."""
    kinds = (kind.__module__ for kind in type(part).__mro__)
    own = next(home for home in kinds if home != nn.utils.parametrize.__name__)
    return own.startswith("torch.nn.") or isinstance(part, _STEADY)


@contextmanager
def sampling(module: nn.Module | None) -> Iterator[None]:
    """In training mode but for the layers of torch: many models draw z only there."""
    modes = {} if module is None else {part: part.training for part in module.modules()}
    for part in modes:
        part.training = not _draws_nothing(part)
    try:
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode


@contextmanager
def preserved(module: nn.Module | None) -> Iterator[None]:
    """A model is put back as it was: some losses count their calls, some keep what they saw, and
    some methods make layers anew."""
    parts = [] if module is None else list(module.modules())
    tables = [[vars(part), part._parameters, part._buffers, part._modules] for part in parts]
    # The tables of a scripted module are read only, and its code adds nothing to them.
    tables = [[table for table in each if isinstance(table, dict)] for each in tables]
    held = [[dict(table) for table in each] for each in tables]
    tensors = [] if module is None else [*module.parameters(), *module.buffers()]
    values = [tensor.detach().clone() for tensor in tensors]
    try:
        yield
    finally:
        for each, before in zip(tables, held, strict=True):
            for table, content in zip(each, before, strict=True):
                table.clear()
                table.update(content)
        with torch.no_grad():
            for tensor, value in zip(tensors, values, strict=True):
                if not torch.equal(tensor, value):
                    tensor.copy_(value)
