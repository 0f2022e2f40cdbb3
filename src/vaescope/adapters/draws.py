"""What a model draws: the latents that it samples itself, at noise that is chosen.

Nothing has to be known of what the encoder returns: z at noise 0 is the posterior's mean, and z at
noise 1 lies one standard deviation further.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from vaescope.adapters.arguments import RECORDED
from vaescope.adapters.fixed_batches import in_batches
from vaescope.adapters.noise import Noise, sampling
from vaescope.adapters.tensors import leaves, same, sizes

__all__ = [
    "Drawn",
    "Entry",
    "Forward",
    "Sampler",
    "answering",
    "drawn",
    "leaves",
    "recorded",
    "same",
    "trace_forward",
]

Sampler = Callable[[Tensor, Tensor | None], Tensor]
Function = Callable[[Tensor, Tensor | None], Any]
#: Methods that take latents.
_DECODING = re.compile(r"decod|generat|^p_x|reconstruct", re.IGNORECASE)
#: Noise at random for the last of three draws.
_SEED = 0


@dataclass(frozen=True, eq=False)
class Drawn:
    """The posterior that samples come from."""

    mean: Tensor
    variance: Tensor
    gaussian: bool  # each latent is mean + std * (noise of its own): a diagonal Gaussian


@dataclass(frozen=True)
class Entry:
    """Where latents go into a decoder: the first argument, or another, of a part's call."""

    part: str  # name of a submodule, or of a method where it ends in ()
    call: int  # the how-manieth
    argument: int


@dataclass(frozen=True, eq=False)
class Forward:
    """A whole pass through a model, whose latents are known by where they go in."""

    call: Function
    module: nn.Module
    x: Tensor  # some examples to run it on, as it takes them
    u: Tensor | None  # what these are conditioned on
    entry: Entry | None = None  # None: nothing in it is drawn
    shape: tuple[int, ...] = ()  # of latents as they go in, of one example
    several: bool = False  # whether latents are drawn at more than one place
    other_noise: bool = False  # whether something is drawn that cannot be chosen
    batch: int | None = None  # rows of every batch, where it takes no other
    imageless: bool = False  # whether it returns no image, but for example a loss
    #: The axis along which the same latents go in many times, and how many times.
    repeated: tuple[int, int] | None = None
    #: The columns of the latents, where they go in side by side with what is given beside.
    columns: Tensor | None = None

    def __call__(self, x: Tensor, u: Tensor | None = None) -> Any:
        """What it returns of a batch of any size."""
        return self._filled(self.call, x, u)

    def sample(self, x: Tensor, u: Tensor | None = None) -> Tensor:
        """z of a batch, at the noise that is on."""
        z: Tensor = self._filled(self._sample, x, u)
        return z

    def decode(self, z: Tensor, u: Tensor | None = None) -> Any:
        """What forward returns where its latents are replaced by z: a decoder for models that have
        none to call. Where it returns no image, what the part makes of z that it goes into."""
        return self._filled(self._decode, z, u)

    def _filled(self, function: Function, values: Tensor, u: Tensor | None) -> Any:
        return (
            function(values, u)
            if self.batch is None
            else in_batches(function, self.batch, values, u)
        )

    def _sample(self, x: Tensor, u: Tensor | None) -> Tensor:
        assert self.entry is not None
        with sampling(self.module), recorded(self.module) as seen:
            self.call(x, u)
        return self.latents_in(seen[self.entry])

    def latents_in(self, fed: Tensor) -> Tensor:
        """z of what goes in where latents do."""
        z = fed if self.repeated is None else fed.select(self.repeated[0], 0)
        return z if self.columns is None else z[:, self.columns]

    def _fed(self, z: Tensor, x: Tensor, u: Tensor | None) -> Tensor:
        """What goes in where latents do, with these."""
        fed = z.reshape(z.shape[0], *self.shape)
        if self.columns is not None:
            assert self.entry is not None
            beside = _seen(replace(self, x=x, u=u), Noise())[self.entry]
            return beside.to(fed).index_copy(1, self.columns, fed)
        if self.repeated is None:
            return fed
        axis, count = self.repeated
        fed = fed.unsqueeze(axis)
        return fed.expand(*(count if i == axis else -1 for i in range(fed.ndim)))

    def shifted(self) -> "Forward":
        """The same on other examples: what it decodes of z must not depend on these."""
        return replace(self, x=self.x.roll(1, 0))

    def _decode(self, z: Tensor, u: Tensor | None) -> Any:
        assert self.entry is not None
        rows = torch.arange(z.shape[0]) % len(self.x)
        given = u if u is not None or self.u is None else self.u[rows]
        x = self.x[rows]
        fed = self._fed(z, x, given)
        decoded: list[Any] = []

        def note(output: Any) -> Any:
            decoded.append(output)
            return output

        with (
            Noise(),
            _replaced(self.module, self.entry, fed),
            answering(self.module, self.entry, note),
        ):
            returned = self.call(x, given)
        if self.imageless:
            return decoded[0]
        if not isinstance(returned, tuple | list):
            return returned
        # Many return their input too, which is no reconstruction.
        return [part for part in returned if not _is(part, x)]


def _is(part: Any, x: Tensor) -> bool:
    return (
        isinstance(part, Tensor)
        and part.numel() == x.numel()
        and torch.equal(part.flatten(), x.flatten().to(part))
    )


def drawn(sample: Sampler, x: Any, u: Tensor | None = None, *, batch: bool = False) -> Drawn | None:
    """The posterior behind samples; None where they are no samples, or their noise cannot be
    chosen. Of a `batch` of anything it is not known how many there should be."""
    try:
        with Noise(0.0):
            centre, again = sample(x, u), sample(x, u)
        with Noise(1.0):
            one = sample(x, u)
        with Noise(generator=torch.Generator().manual_seed(_SEED)) as noise:
            other = sample(x, u)
    except Exception:  # anybody's code: then it shows nothing
        return None
    if not _codes(centre, None if batch else len(x)) or not (
        centre.shape == again.shape == one.shape == other.shape
    ):
        return None
    if not torch.equal(centre, again) or (same(centre, one) and same(centre, other)):
        return None
    std = one - centre
    fixed = (std == 0).all(0)
    if bool(fixed.any()) and not bool(fixed.all()):
        return None  # what goes in beside latents, such as a condition, is not drawn
    eps = [e for e in noise.drawn if e.numel() == centre.numel()]
    gaussian = any(same(centre + std * e.reshape(std.shape), other) for e in eps)
    return Drawn(centre, std.square(), gaussian)


def _codes(z: Any, n: int | None) -> bool:
    return (
        isinstance(z, Tensor) and z.ndim > 1 and n in (None, len(z)) and z.is_floating_point()
        and bool(torch.isfinite(z).all())
    )  # fmt: skip


def trace_forward(
    call: Function, module: nn.Module, x: Tensor, u: Tensor | None, batch: int | None = None
) -> Forward | None:
    """A pass through the model, and where what it draws goes in; None where it fails."""
    whole = Forward(call, module, x, u, batch=batch)
    try:
        zero, again, one = (_seen(whole, Noise(value)) for value in (0.0, 0.0, 1.0))
        other = _seen(whole, Noise(generator=torch.Generator().manual_seed(_SEED)))
    except Exception:  # anybody's code
        return _untraced(whole)
    if _moved(zero, again) is not None:
        return replace(whole, other_noise=True)
    entry = _moved(zero, one) or _moved(zero, other)
    if entry is None:
        return whole
    if isinstance(x, Tensor) and _is(zero[entry], x):
        return replace(whole, other_noise=True)  # noise on the data: what comes after mixes both
    whole = replace(
        whole, entry=entry, repeated=_repeated(zero[entry], one[entry]),
        columns=_columns(whole, entry, zero[entry], one[entry]), imageless=_imageless(whole),
    )  # fmt: skip
    whole = replace(whole, shape=tuple(whole.latents_in(zero[entry]).shape[1:]))
    rest = []
    for value, drawn_there in ((0.0, zero[entry]), (1.0, one[entry])):
        with _replaced(module, entry, zero[entry], beside=drawn_there):
            rest.append(_seen(whole, Noise(value)))
    return replace(whole, several=_moved(rest[0], rest[1], but=entry) is not None)


def _repeated(zero: Tensor, one: Tensor) -> tuple[int, int] | None:
    """The axis along which latents are the same: those of a sequence that go in at every step."""
    for axis in (0, 1) if zero.ndim == 3 else ():
        firsts = [z.narrow(axis, 0, 1).expand_as(z) for z in (zero, one)]
        if zero.shape[axis] > 1 and torch.equal(zero, firsts[0]) and torch.equal(one, firsts[1]):
            return axis, zero.shape[axis]
    return None


def _columns(whole: Forward, entry: Entry, zero: Tensor, one: Tensor) -> Tensor | None:
    """The columns that noise moves, where the others are what the examples are conditioned on: with
    other data they stay. A latent without noise would not."""
    if whole.u is None or zero.ndim != 2 or zero.shape != one.shape:
        return None
    moves = (zero != one).any(0)
    if bool(moves.all()):
        return None
    other = _seen(replace(whole, x=whole.x.roll(1, 0)), Noise())[entry]
    if not torch.equal(other[:, ~moves], zero[:, ~moves]):
        return None
    return moves.nonzero()[:, 0]


def _imageless(whole: Forward) -> bool:
    if not isinstance(whole.x, Tensor):
        return False  # a batch of anything, of which nothing is decoded
    with Noise():
        returned = whole.call(whole.x, whole.u)
    return all(size < whole.x.numel() for size in sizes(returned))


@contextmanager
def answering(module: nn.Module, entry: Entry, answer: Callable[[Any], Any]) -> Iterator[None]:
    """`answer` is shown what the part returns that latents go into, and may change it."""
    calls = iter(range(1_000_000))

    def see(output: Any) -> Any:
        return answer(output) if next(calls) == entry.call else output

    if not entry.part.endswith("()"):
        part = module.get_submodule(entry.part)
        handle = part.register_forward_hook(lambda _, __, output: see(output))
        try:
            yield
        finally:
            handle.remove()
        return
    name = entry.part[:-2]
    before, method = module.__dict__.get(name), getattr(module, name)
    module.__dict__[name] = lambda *arguments, **named: see(method(*arguments, **named))
    try:
        yield
    finally:
        del module.__dict__[name]
        if before is not None:
            module.__dict__[name] = before


def _untraced(whole: Forward) -> Forward | None:
    """A pass that works only with its own noise, if it has some."""
    try:
        with sampling(whole.module):
            once, twice = ([part for _, part in leaves(whole.call(whole.x, whole.u))]
                           for _ in range(2))  # fmt: skip
    except Exception:  # anybody's code
        return None
    pairs = zip(once, twice, strict=False)
    return replace(whole, other_noise=not all(same(a, b) for a, b in pairs))


def _seen(whole: Forward, noise: Noise) -> dict[Entry, Tensor]:
    with noise, sampling(whole.module), recorded(whole.module) as seen:
        whole.call(whole.x, whole.u)
    return dict(seen)


def _moved(
    zero: Mapping[Entry, Tensor], one: Mapping[Entry, Tensor], but: Entry | None = None
) -> Entry | None:
    """The first tensor that changes with the noise."""
    for entry, z in zero.items():
        other = one.get(entry)
        # A part that is called again may see other things, such as draws from the prior.
        if entry == but or (but is not None and entry.call):
            continue
        if other is not None and z.shape == other.shape and not same(z, other):
            return entry
    return None


@contextmanager
def recorded(module: nn.Module) -> Iterator[dict[Entry, Tensor]]:
    """Every tensor that goes into a submodule, or into a method that decodes, in order."""
    seen: dict[Entry, Tensor] = {}
    counts: dict[str, int] = {}

    def note(name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        call = counts[name] = counts.get(name, -1) + 1
        for place, value in enumerate(arguments):
            if isinstance(value, Tensor) and value.is_floating_point() and value.ndim > 1:
                seen[Entry(name, call, place)] = value.detach().clone()
        return arguments

    token = RECORDED.set(True)
    try:
        with _watched(module, note):
            yield seen
    finally:
        RECORDED.reset(token)


@contextmanager
def _replaced(
    module: nn.Module, entry: Entry, z: Tensor, beside: Tensor | None = None
) -> Iterator[None]:
    """Latents by others, where they go in; and wherever `beside` goes in, such as a critic."""
    counts: dict[str, int] = {}

    def put(name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        call = counts[name] = counts.get(name, -1) + 1
        if (name, call) != (entry.part, entry.call):
            return tuple(z if beside is not None and _equal(one, beside) else one
                         for one in arguments)  # fmt: skip
        return (*arguments[: entry.argument], z, *arguments[entry.argument + 1 :])

    with _watched(module, put):
        yield


@contextmanager
def _watched(
    module: nn.Module, see: Callable[[str, tuple[Any, ...]], tuple[Any, ...]]
) -> Iterator[None]:
    """`see` is shown the arguments of every call of a part, and may change them."""
    handles = [
        part.register_forward_pre_hook(lambda _, arguments, name=name: see(name, arguments))
        for name, part in module.named_modules()
        if name
    ]
    methods = _methods(module)
    for name, method in methods.items():
        module.__dict__[name] = _seeing(method, f"{name}()", see)
    try:
        yield
    finally:
        for name in methods:
            del module.__dict__[name]
        for handle in handles:
            handle.remove()


def _equal(value: Any, other: Tensor) -> bool:
    return isinstance(value, Tensor) and value.shape == other.shape and torch.equal(value, other)


def _methods(module: nn.Module) -> dict[str, Callable[..., Any]]:
    """Methods of the class that take latents, by their names."""
    names = [name for name in dir(type(module)) if _DECODING.search(name)]
    found = {name: getattr(type(module), name) for name in names if name not in module.__dict__}
    return {
        name: getattr(module, name) for name, value in found.items()
        if callable(value) and not isinstance(value, type | nn.Module)
    }  # fmt: skip


def _seeing(
    method: Callable[..., Any], name: str, see: Callable[[str, tuple[Any, ...]], tuple[Any, ...]]
) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        if not arguments and named:  # decode(z=z): the first by its name
            keys = list(named)
            values = see(name, tuple(named.values()))
            return method(**dict(zip(keys, values, strict=True)))
        return method(*see(name, arguments), **named)

    return call
