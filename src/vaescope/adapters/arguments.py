"""How somebody's function is called: what it gets beside x or z, and in which order."""

import inspect
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from vaescope.adapters.condition import Form

__all__ = [
    "RECORDED", "Call", "beside_names", "fed", "of_function", "optional_beside", "parameters_of",
    "required_of",
]  # fmt: skip

#: What arguments are called that are given beside x or z.
_BESIDE = re.compile(
    r"^(y|c|s|u|h|k|t)$|cond|label|class|state|obs|context|ctx|attr|len|target|batch_?idx|adj|edge"
    r"|index|mask|cov|aux|side|given",
    re.IGNORECASE,
)
_FIRST = re.compile(r"^(x|z|x_?in)$|latent|action|input|data|image|seq|sample|tokens?|^src$", re.I)
_LENGTHS = re.compile(r"len|sizes", re.IGNORECASE)

#: Whether what goes into a model's parts is being recorded: rows must then keep their order.
RECORDED = ContextVar("RECORDED", default=False)


def parameters_of(function: Any) -> list[inspect.Parameter] | None:
    """Parameters that are given by place; None where they cannot be known."""
    try:
        known = list(inspect.signature(getattr(function, "forward", function)).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in known):
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one for one in known if one.kind in kinds]


def of_function(wrapper: Callable[..., Any], function: Any) -> Callable[..., Any]:
    """A function of ours around somebody's: what it may be given is asked of theirs."""
    wrapper.__wrapped__ = getattr(function, "__wrapped__", function)  # type: ignore[attr-defined]
    return wrapper


def required_of(function: Any) -> int:
    """How many arguments a function needs by place; 1 where that cannot be known."""
    known = parameters_of(function)
    if known is None:
        return 1
    return sum(one.default is inspect.Parameter.empty for one in known)


def beside_names(names: list[str]) -> list[str]:
    """Those parameters that are beside x or z, by their names: all but the first, or all but the
    last."""
    beside = [bool(_BESIDE.search(name)) and not _FIRST.search(name) for name in names]
    return names[:-1] if beside and beside[0] and not beside[-1] else names[1:]


def optional_beside(function: Any) -> list[str]:
    """What a function may be given beside x or z and works without, by names: decode(z, y=None)."""
    if str(getattr(function, "__module__", "")).startswith("vaescope."):
        return []  # ours, around what has no parameters to look at
    known = parameters_of(function) or []
    names = [one.name for one in known[1:] if one.default is None]
    return [name for name in names if _BESIDE.search(name) and not _FIRST.search(name)]


@dataclass(eq=False)
class Call:
    """A function of x or z and of what is given beside, in the order that it takes.

    The order is told by the names of its parameters; where they do not tell, by what works: x or z
    first. `order` is what worked, and is kept.
    """

    function: Callable[..., Any]
    form: Form | None = None
    named: Any = None  # whose parameters tell the order; None: the function's
    sees_data: bool = False  # whether it may be given the data beside: decoders are
    order: str = field(default="", init=False)

    def __call__(self, first: Tensor, u: Tensor | None) -> Any:
        if u is None or self.form is None:
            return self.function(first)
        beside = self._beside(first, u)
        if not beside:
            return self.function(first)
        orders = [self.order] if self.order else self._orders()
        for place, order in enumerate(orders):
            arguments = (first, *beside) if order == "first" else (*beside, first)
            try:
                output = self._sorted(arguments, first, u)
            except Exception:
                if place == len(orders) - 1:
                    raise
            else:
                self.order = order
                return output
        raise AssertionError("there is at least one order")

    def _known(self) -> list[inspect.Parameter] | None:
        return parameters_of(self.function if self.named is None else self.named)

    def _slots(self) -> int:
        """How many things it takes beside x or z."""
        known = self._known()
        if known is None:
            return 1 if self.form is None else len(self.form.parts)
        empty = inspect.Parameter.empty
        needed = sum(one.default is empty for one in known) - 1
        allowed = sum(one.default is None and bool(_BESIDE.search(one.name)) for one in known)
        return needed + allowed

    @property
    def takes_more(self) -> bool:
        """Whether it gets something beside x or z, or may, as far as its parameters tell."""
        return self._slots() > 0

    def _beside(self, first: Tensor, u: Tensor) -> list[Tensor]:
        """What it takes beside x or z: as much as it has places for. Lengths go where a name asks
        for them."""
        assert self.form is not None
        given = [(role, part.to(first.device)) for role, part in self.form(u) if role != "scored"]
        if not self.sees_data:
            given = [(role, part) for role, part in given if role != "x"]
        known = self._known()
        slots = self._slots()
        if known is not None and not any(_LENGTHS.search(one.name) for one in known):
            named = [part for part in given if part[0] != "lengths"]
            given = named if len(named) >= slots else given
        kept = given[: max(slots, 0)]
        return [part.to(first.dtype) if part.is_floating_point() and first.is_floating_point()
                else part for _, part in kept]  # fmt: skip

    def _orders(self) -> list[str]:
        names = [one.name for one in self._known() or []]
        last = len(names) > 1 and beside_names(names) == names[:-1]
        return ["last", "first"] if last else ["first", "last"]

    def _sorted(self, arguments: Sequence[Tensor], first: Tensor, u: Tensor) -> Any:
        """Packed sequences may have to come the longest first: then they do, and are put back."""
        try:
            return self.function(*arguments)
        except RuntimeError as error:
            if "sorted" not in str(error) or self.form is None or RECORDED.get():
                raise
            lengths = next((part for role, part in self.form(u) if role == "lengths"), None)
            if lengths is None:
                raise
        order = lengths.flatten().argsort(descending=True, stable=True)
        back = order.argsort()
        return _picked(self.function(*(one[order] for one in arguments)), back)


def _picked(output: Any, rows: Tensor) -> Any:
    """Rows of every tensor that has one for each example."""
    if isinstance(output, Tensor):
        return output[rows] if output.ndim and len(output) == len(rows) else output
    if isinstance(output, dict):
        return {key: _picked(value, rows) for key, value in output.items()}
    if isinstance(output, tuple | list):
        return type(output)([_picked(value, rows) for value in output])
    return output


def fed(values: Tensor, dtype: torch.dtype, device: torch.device) -> Tensor:
    """A contiguous copy in the precision of a module, since it may be changed in place, and `view`
    fails on other layouts; whole numbers stay what they are."""
    dtype = dtype if values.is_floating_point() else values.dtype
    return values.to(device, dtype, copy=True).contiguous()
