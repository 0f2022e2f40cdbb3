"""Anybody's decoder as layers that a page can run: its operations on one code, recorded by torch.

What moves numbers without changing them (views, permutations, slices, pixel shuffles, enlarging by
repetition) is recorded by moving their places instead: one kind of layer for all of them.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from vaescope.inspection.network import (
    Affine,
    Join,
    Layer,
    Network,
    Pointwise,
    Resize,
    Scaled,
    Take,
)
from vaescope.inspection.weights import Unsupported, Weighted, array, rounded
from vaescope.types import Array

__all__ = ["traced"]

#: Operations that only move numbers, by name.
_MOVES = {
    "view", "_unsafe_view", "reshape", "permute", "transpose", "t", "squeeze", "unsqueeze",
    "expand", "slice", "select", "clone", "alias", "detach", "split", "split_with_sizes", "unbind",
    "chunk", "pixel_shuffle", "upsample_nearest2d", "flip", "roll", "repeat", "_reshape_alias",
    "lift_fresh_copy", "contiguous", "flatten", "constant_pad_nd",
}  # fmt: skip
#: Operations that do nothing at rest, or to the type alone.
_SAME = {"_to_copy", "dropout", "native_dropout"}
_POINTWISE = {
    "relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid", "silu": "silu", "exp": "exp",
}  # fmt: skip


class _Logits:
    """Logits of numbers that depend on the code: only a sigmoid may take them."""


@dataclass(frozen=True)
class _Value:
    """Numbers that depend on the code: which layer makes them, and their shape in torch."""

    layer: int  # -1: the code itself
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def order(self) -> Array:
        """Place in torch of each number of ours: channels last where there are maps."""
        places = np.arange(self.size).reshape(self.shape)
        return (np.moveaxis(places, 1, -1) if len(self.shape) == 4 else places).ravel()


class _Tracer:
    """Layers so far, and how each operation adds to them."""

    def __init__(self, *, exact: bool) -> None:
        self.layers: list[Layer] = []
        self.exact = exact  # weights of 32 bits

    def add(self, layer: Layer, shape: tuple[int, ...]) -> _Value:
        self.layers.append(layer)
        return _Value(len(self.layers) - 1, shape)

    def move(self, target: Callable[..., Any], args: Any, kwargs: Any, x: _Value) -> Any:
        places = torch.arange(1, x.size + 1, dtype=torch.float64).reshape(x.shape)
        moved = target(places, *args[1:], **kwargs)
        several = isinstance(moved, list | tuple)
        found = [self._taken(x, own) for own in (moved if several else [moved])]
        return found if several else found[0]

    def _taken(self, x: _Value, moved: Tensor) -> _Value:
        whole = _Value(-1, tuple(moved.shape))
        if not whole.size:
            raise Unsupported("some of its tensors are empty.")
        ours = np.empty(x.size + 1, dtype=np.int64)
        ours[0] = -1  # what was not there before: padding with zeros
        ours[1 + x.order] = np.arange(x.size)
        places = moved.detach().numpy().ravel().astype(np.int64)[whole.order]
        order = ours[places]
        if len(order) == x.size and np.array_equal(order, np.arange(x.size)):
            return _Value(x.layer, whole.shape)
        return self.add(Take(order.astype(np.int32), (x.layer,)), whole.shape)

    def pointwise(self, x: _Value, name: str, slope: float = 0.0, high: float = 0.0) -> _Value:
        return self.add(Pointwise(name, slope, high, (x.layer,)), x.shape)

    def scaled(self, x: _Value, scale: Any, shift: Any) -> _Value:
        """x * scale + shift with constants that broadcast to x."""
        constants = [np.asarray(c, dtype=np.float64) for c in (scale, shift)]
        if np.broadcast_shapes(x.shape, *(c.shape for c in constants)) != tuple(x.shape):
            raise Unsupported("it adds a constant that is larger than the tensor it is added to.")
        own = [np.broadcast_to(constant, x.shape) for constant in constants]
        flat = [constant.ravel()[x.order] for constant in own]
        channels = x.shape[1] if len(x.shape) == 4 else x.shape[-1]
        for period in (1, channels):
            if all(np.array_equal(f, np.resize(f[:period], x.size)) for f in flat):
                flat = [f[:period] for f in flat]
                break
        if not all(np.isfinite(f).all() for f in flat):
            raise Unsupported("some of its weights are not finite.")
        factor, term = (f.astype(np.float32) for f in flat)
        return self.add(Scaled(factor, term, (x.layer,)), x.shape)

    def linear(self, x: _Value, weight: Tensor, bias: Tensor | None) -> _Value:
        """weight (inputs, outputs)."""
        if x.size != weight.shape[0]:
            raise Unsupported("it multiplies more than one vector by a matrix.")
        shift = np.zeros(weight.shape[1]) if bias is None else array(bias.reshape(-1))
        if len(shift) != weight.shape[1]:
            shift = np.broadcast_to(shift, (weight.shape[1],))
        own = Weighted(1, array(weight)[None, None], shift.astype(np.float32))
        return self.add(rounded(own, (x.layer,), exact=self.exact), (1, int(weight.shape[1])))

    def convolution(self, x: _Value, args: Any) -> _Value:
        weight, bias, stride, padding, dilation, transposed, extra, groups = args
        sides = ({*x.shape[2:]}, {*stride}, {*padding}, {*weight.shape[2:]}, {*extra})
        if len(x.shape) != 4 or groups != 1 or {*dilation} != {1} or any(len(s) > 1 for s in sides):
            raise Unsupported("it has a convolution that the page's script does not support.")
        size, step, pad, more = int(x.shape[2]), int(stride[0]), int(padding[0]), int(extra[0])
        kernel = int(weight.shape[2])
        if transposed:
            ours = array(weight).transpose(2, 3, 0, 1)  # (kernel, kernel, inputs, outputs)
        elif step == 1 and pad <= kernel - 1:
            # A convolution is a transposed one of the mirrored kernel.
            ours = array(weight)[:, :, ::-1, ::-1].transpose(2, 3, 1, 0)
            pad, more = kernel - 1 - pad, 0
        else:
            raise Unsupported("it has a convolution with a stride, which makes images smaller.")
        shift = np.zeros(ours.shape[3], np.float32) if bias is None else array(bias)
        own = Weighted(size, np.ascontiguousarray(ours), shift, step, pad, more)
        side = own.grown
        return self.add(rounded(own, (x.layer,), exact=self.exact), (1, ours.shape[3], side, side))

    def normalised(self, x: _Value, statistics: Any, eps: float) -> list[_Value]:
        weight, bias, mean, var = statistics

        def channel(own: Any, default: float) -> Array:
            values = np.full(x.shape[1], default) if own is None else array(own).astype(np.float64)
            return values.reshape(1, -1, *(1,) * (len(x.shape) - 2))

        scale = channel(weight, 1.0) / np.sqrt(channel(var, 1.0) + eps)
        return [self.scaled(x, scale, channel(bias, 0.0) - channel(mean, 0.0) * scale)]

    def resized(self, target: Callable[..., Any], x: _Value, args: Any, kwargs: Any) -> _Value:
        """Enlarging that is linear in each axis by itself: its matrix is what it makes of ones."""
        if len(x.shape) != 4 or x.shape[2] != x.shape[3]:
            raise Unsupported("it enlarges images that are not square.")
        size = x.shape[2]
        columns = torch.eye(size)[:, None, :, None].expand(size, 1, size, size)
        grown = target(columns.contiguous(), *args[1:], **kwargs)
        if grown.shape[2] != grown.shape[3]:
            raise Unsupported("it enlarges images to non-square ones.")
        matrix = grown[:, 0, :, 0].T.numpy()  # (grown, size)
        side = len(matrix)
        layer = Resize(np.ascontiguousarray(matrix, np.float32), x.shape[1], (x.layer,))
        return self.add(layer, (1, x.shape[1], side, side))

    def joined(self, kind: str, one: _Value, other: _Value) -> _Value:
        if one.shape != other.shape:
            raise Unsupported("it adds tensors of different shapes.")
        return self.add(Join(kind, (one.layer, other.layer)), one.shape)

    def concatenated(self, parts: list[_Value], axis: int) -> _Value:
        ends = np.cumsum([0, *(part.size for part in parts)])
        whole = self.add(Join("cat", tuple(part.layer for part in parts)), (1, int(ends[-1])))
        # Places of ours in the joined list, seen in torch's order, then put side by side.
        tables = []
        for part, start in zip(parts, ends[:-1], strict=True):
            table = np.empty(part.size)
            table[part.order] = start + np.arange(part.size) + 1
            tables.append(torch.from_numpy(table.reshape(part.shape)))
        return self._taken(whole, torch.cat(tables, dim=axis))


def _called(target: Any) -> str:
    """The name of an operation, e.g. `relu_` of aten::relu_."""
    schema = getattr(target, "_schema", None)
    name = getattr(target, "__name__", str(target)) if schema is None else schema.name
    return str(name).split("::")[-1]


def _plain(target: Any) -> str:
    """The same for what changes its input in place."""
    name = _called(target)
    return name[:-1] if name.endswith("_") and not name.startswith("_") else name


def _constant(value: Any) -> Any:
    return array(value) if isinstance(value, Tensor) else value


def _arithmetic(tracer: _Tracer, name: str, args: Any, kwargs: Any) -> _Value:
    one, other = args[0], args[1]
    alpha = float(kwargs.get("alpha", 1)) if name in ("add", "sub") else 1.0
    if isinstance(one, _Value) and isinstance(other, _Value):
        if name == "sub" or alpha != 1.0:
            sign = -alpha if name == "sub" else alpha
            other = tracer.scaled(other, sign, 0.0)
        if name == "div":
            raise Unsupported("the page's script does not support division of two results.")
        return tracer.joined("mul" if name == "mul" else "add", one, other)
    if isinstance(one, _Value):
        c = _constant(other)
        return {
            "add": lambda: tracer.scaled(one, 1.0, alpha * np.asarray(c)),
            "sub": lambda: tracer.scaled(one, 1.0, -alpha * np.asarray(c)),
            "mul": lambda: tracer.scaled(one, c, 0.0),
            "div": lambda: tracer.scaled(one, 1.0 / np.asarray(c), 0.0),
        }[name]()
    c = np.asarray(_constant(one))
    if name == "div":
        raise Unsupported("the page's script does not support division by a result.")
    if name == "mul":
        return tracer.scaled(other, c, 0.0)
    return tracer.scaled(other, -alpha if name == "sub" else alpha, c)


def _activation(tracer: _Tracer, name: str, x: _Value, args: Any, kwargs: Any) -> _Value | None:
    if name in _POINTWISE:
        return tracer.pointwise(x, _POINTWISE[name])
    if name == "leaky_relu":
        return tracer.pointwise(x, "leaky-relu", float(args[1]) if len(args) > 1 else 0.01)
    if name == "elu":
        alpha, scale, inner = (*(float(a) for a in args[1:4]), *(1.0,) * 3)[:3]
        if inner != 1.0:
            return None
        return tracer.scaled(tracer.pointwise(x, "elu", alpha), scale, 0.0)
    if name == "gelu":
        approximate = kwargs.get("approximate", args[1] if len(args) > 1 else "none")
        return tracer.pointwise(x, "gelu-tanh" if approximate == "tanh" else "gelu")
    if name == "softplus":
        sharpness = float(args[1]) if len(args) > 1 else 1.0
        return tracer.pointwise(x, "softplus", sharpness)
    if name in ("hardtanh", "clamp", "clamp_min", "clamp_max"):
        ends = [*args[1:], *(None,) * 2][:2]
        if name == "hardtanh" and ends[0] is None:
            ends = [-1.0, 1.0]
        if name == "clamp":
            ends = [kwargs.get("min", ends[0]), kwargs.get("max", ends[1])]
        if name == "clamp_max":
            ends = [None, ends[0]]
        if any(isinstance(end, Tensor | _Value) for end in ends):
            return None
        low, high = ends
        return tracer.pointwise(
            x, "clamp", -3e38 if low is None else float(low), 3e38 if high is None else float(high)
        )
    return None


def _operation(tracer: _Tracer, target: Any, args: Any, kwargs: Any) -> Any:
    """What an operation makes of results, as layers."""
    name = _plain(target)
    x = next((a for a in args if isinstance(a, _Value)), None)
    if name == "getitem":
        # Statistics that nothing reads have no layer.
        return args[0][args[1]] if args[1] < len(args[0]) else None
    if name in ("cat", "concat") and all(isinstance(part, _Value) for part in args[0]):
        return tracer.concatenated(args[0], args[1] if len(args) > 1 else 0)
    if x is None:
        raise Unsupported(f"the page's script does not support {name}.")
    if name in ("add", "sub", "mul", "div"):
        return _arithmetic(tracer, name, args, kwargs)
    if x is args[0]:
        if name in _SAME:
            return [x] if name == "native_dropout" else x
        if name == "constant_pad_nd" and (args[2] if len(args) > 2 else 0) != 0:
            raise Unsupported("it pads images with numbers other than zero.")
        if name in _MOVES:
            return tracer.move(target, args, kwargs, x)
        if name in ("mm", "matmul"):
            return tracer.linear(x, args[1], None)
        if name == "linear":
            return tracer.linear(x, args[1].T, args[2] if len(args) > 2 else None)
        if name == "convolution":
            return tracer.convolution(x, args[1:])
        if name.startswith("upsample_"):
            return tracer.resized(target, x, args, kwargs)
        if name == "_native_batch_norm_legit_no_training":
            return tracer.normalised(x, args[1:5], args[6])
        if name in ("native_batch_norm", "cudnn_batch_norm") and not args[5]:
            return tracer.normalised(x, args[1:5], args[7])
        if name == "rsub":
            less = float(args[2] if len(args) > 2 else kwargs.get("alpha", 1))
            return tracer.scaled(x, -less, _constant(args[1]))
        if name == "neg":
            return tracer.scaled(x, -1.0, 0.0)
        found = _activation(tracer, name, x, args, kwargs)
        if found is not None:
            return found
    if name == "addmm" and x is args[1] and not kwargs:
        return tracer.linear(x, args[2], args[0])
    raise Unsupported(f"the page's script does not support {name}.")


def traced(decode: Callable[[Tensor], Tensor], latent: int, *, exact: bool = False) -> Network:
    """The layers of a decoder that makes images (1, channels, height, width) of codes (1, latent).
    `exact` keeps weights of 32 bits.

    Raises:
        Unsupported: it has an operation that the page's script does not support.
    """
    try:
        with torch.no_grad():
            graph = make_fx(decode, tracing_mode="real")(torch.zeros(1, latent))
    except Exception as error:  # anybody's code
        lines = str(error).splitlines()
        reason = lines[0][:160] if lines else type(error).__name__
        raise Unsupported(f"its operations cannot be recorded ({reason}).") from error
    tracer = _Tracer(exact=exact)
    known: dict[Any, Any] = {}
    logits: dict[Any, _Value] = {}  # by their operation: the numbers that they are the logits of
    output: Any = None
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            known[node] = _Value(-1, (1, latent))
        elif node.op == "get_attr":
            known[node] = operator.attrgetter(node.target)(graph)
        elif node.op == "output":
            output = _looked_up(node.args[0], known)
        else:
            args, kwargs = _looked_up(node.args, known), _looked_up(node.kwargs, known)
            if _called(node.target) == "logit" and isinstance(args[0], _Value):
                logits[node] = args[0]
                known[node] = _Logits()
            elif _called(node.target) == "sigmoid" and node.args[0] in logits:
                known[node] = logits[node.args[0]]  # the mean of a Bernoulli of these shares
            elif _symbolic(args) or _symbolic(kwargs):
                known[node] = _operation(tracer, node.target, list(args), dict(kwargs))
                if _called(node.target) != _plain(node.target):
                    known[node.args[0]] = known[node]  # changed in place
            else:
                known[node] = node.target(*args, **kwargs)
    if not isinstance(output, _Value) or len(output.shape) != 4:
        raise Unsupported("it does not decode to images.")
    if output.layer != len(tracer.layers) - 1:
        output = tracer.add(Take(np.arange(output.size, dtype=np.int32), (output.layer,)),
                            output.shape)  # fmt: skip
    _, channels, height, width = output.shape
    affine = [own for own in tracer.layers if isinstance(own, Affine)]
    parameters = sum(own.weight.size + own.bias.size for own in affine)
    return Network(tuple(tracer.layers), (height, width, channels), parameters)


def _looked_up(value: Any, known: Mapping[Any, Any]) -> Any:
    if isinstance(value, torch.fx.Node):
        return known[value]
    if isinstance(value, list | tuple):
        return [_looked_up(own, known) for own in value]
    if isinstance(value, dict):
        return {key: _looked_up(own, known) for key, own in value.items()}
    return value


def _symbolic(value: Any) -> bool:
    if isinstance(value, _Logits):
        raise Unsupported("the page's script does not support logit.")
    if isinstance(value, _Value):
        return True
    if isinstance(value, dict):
        return any(_symbolic(own) for own in value.values())
    return isinstance(value, list | tuple) and any(_symbolic(own) for own in value)
