"""Encoder and decoder as ONNX files, compared with torch before they are written.

https://onnx.ai. Batches may be of any size. onnx, onnxruntime and onnxscript come with
`vaescope[onnx]`.
"""

import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.func import functional_call

from vaescope import __version__
from vaescope.data import Dataset
from vaescope.distributions import FullGaussian
from vaescope.errors import ExportError, UsageError
from vaescope.models import OpenModel
from vaescope.notebook_card import card_of
from vaescope.opening import open_model
from vaescope.paths import disk_errors, replace_file
from vaescope.seeds import derive
from vaescope.types import Array, Integers

__all__ = ["OUTPUTS", "OnnxCheck", "OnnxExport", "export_onnx"]

#: What the two files give, in this order; covariance only where the posterior has one.
OUTPUTS = {"encoder": ("mean", "variance", "covariance"), "decoder": ("mean",)}
TOLERANCE = 1e-5
PRIOR = "prior draws"
#: Sizes of batches that are compared, beside all rows at once.
BATCHES = (1, 2, 65)
#: Rows to compare on, and the most values that these may have together.
ROWS, VALUES = 256, 2**22
Function = Callable[[Tensor, Tensor | None], tuple[Tensor, ...]]
_NEEDED = ("onnx", "onnxscript", "onnxruntime")


@dataclass(frozen=True)
class OnnxCheck:
    """onnxruntime against torch on the same inputs, over all batch sizes."""

    file: str  # encoder or decoder
    output: str
    on: str  # data, codes or prior draws
    n: int
    batches: tuple[int, ...]
    absolute: float  # largest difference
    largest: float  # absolute value that torch gives
    rounding: float | None  # torch in float32 against itself in float64, relative likewise

    @property
    def difference(self) -> float:
        """Relative to the largest value, absolute where that is below 1."""
        return self.absolute / max(1.0, self.largest)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "batches": list(self.batches), "difference": self.difference}


@dataclass(frozen=True)
class OnnxExport:
    """Two files that give what torch gives, and how nearly."""

    folder: Path
    inputs: Mapping[str, tuple[str, ...]]  # of each file
    outputs: Mapping[str, tuple[str, ...]]
    checks: tuple[OnnxCheck, ...]
    tolerance: float

    @property
    def encoder(self) -> Path:
        return self.folder / "encoder.onnx"

    @property
    def decoder(self) -> Path:
        return self.folder / "decoder.onnx"

    @property
    def largest_difference(self) -> float:
        """On data and their codes: what the tolerance is about."""
        return max(check.difference for check in self.checks if check.on != PRIOR)

    @property
    def prior_difference(self) -> float:
        """At draws from the prior, which may be unlike any code of the data."""
        return max(check.difference for check in self.checks if check.on == PRIOR)

    def summary(self) -> str:
        """What was written and how nearly it equals torch."""
        prior = next(check for check in self.checks if check.on == PRIOR)
        own = "" if prior.rounding is None else f" (torch's own rounding: {prior.rounding:.1e})"
        sizes = ", ".join(map(str, prior.batches))
        return (
            f"{self.encoder} and {self.decoder} equal torch to {self.largest_difference:.1e} on "
            f"{prior.n} rows and their codes, to {self.prior_difference:.1e} at draws from the "
            f"prior{own}; batches of {sizes}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "encoder": str(self.encoder),
            "decoder": str(self.decoder),
            "inputs": {file: list(names) for file, names in self.inputs.items()},
            "outputs": {file: list(names) for file, names in self.outputs.items()},
            "largest_difference": self.largest_difference,
            "prior_difference": self.prior_difference,
            "tolerance": self.tolerance,
            "checks": [check.to_dict() for check in self.checks],
        }

    _repr_html_ = card_of


class Traceable(nn.Module):
    """A function of tensors, with the module whose weights it uses."""

    def __init__(self, function: Function, module: nn.Module | None) -> None:
        super().__init__()
        self.function, self.module = function, module
        self.training = False  # the module itself is put into that mode by `evaluating`

    def forward(self, x: Tensor, u: Tensor | None = None) -> tuple[Tensor, ...]:
        return self.function(x, u)


def _encoder(opened: OpenModel) -> Function:
    def encode(x: Tensor, u: Tensor | None) -> tuple[Tensor, ...]:
        q = opened.encode(x, u)
        return q.mean, q.variance, *((q.covariance,) if isinstance(q, FullGaussian) else ())

    return encode


def _rows(data: Dataset) -> Integers:
    """Fewer where they are large; repeated where there are too few for the largest batch."""
    most = min(ROWS, max(3, VALUES // int(np.prod(data.shape))))
    rows = data.sample(most, seed=0)
    return np.resize(rows, max(len(rows), min(most, BATCHES[-1])))


def export_onnx(
    model: Any,
    folder: str | Path,
    data: Any = None,
    *,
    encode: Callable[[Tensor], Any] | None = None,
    decode: Callable[[Tensor], Any] | None = None,
    posterior: str | None = None,
    output: str | None = None,
    value_range: tuple[float, float] | None = None,
    likelihood: Any = None,
    prior: Any = None,
    condition: Any = None,
    tolerance: float = TOLERANCE,
) -> OnnxExport:
    """Writes encoder.onnx and decoder.onnx of a run, or of any torch model that `vs.inspect` takes.

    The encoder takes `x`, images in [0, 1] whatever the model was made for (and `u` where it sees
    one), and gives `mean`, `variance` and, where latents share their noise, `covariance`. The
    decoder takes `z` (and `u` of a conditional model) and gives the `mean` of x. Both are compared
    with torch on data and codes at several batch sizes; where they differ by more than `tolerance`
    nothing is written.

    Args:
        model: a run, its folder, or any model that `vs.open_model` opens.
        folder: where files are written, or read.
        data: a dataset, its name or path, or an array; None takes the run's own.
        encode: a function of a tensor that replaces the model's own.
        decode: the decoder: a function of a tensor (n, latent).
        posterior: how to interpret `encode`'s outputs, e.g. `logvar`; None infers it.
        output: `probabilities`, `logits` or `pixels`; None infers it.
        value_range: range of the images that the model takes; None infers it.
        likelihood: likelihood of the decoder's output, as for `vs.open_model`; None infers it.
        prior: prior of the model, as for `vs.open_model`; None infers it.
        condition: what a conditional model takes beside x, as for `vs.open_model`; both files take
            it as `u`, its arrays side by side as floats.
        tolerance: largest difference from torch that is accepted.

    Returns:
        `OnnxExport`: two files that reproduce torch's results, and how closely.

    Raises:
        BusyError: another process works on the same run.
        DiskError: a folder cannot be written.
        ExportError: the model cannot be written for another program.
        RangeError: a value is out of range.
        RunError: a folder is not a run, or the run does not fit.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.
    """
    runtime = _runtime()
    opened = open_model(
        model, data, encode=encode, decode=decode, posterior=posterior, output=output,
        value_range=value_range, likelihood=likelihood, prior=prior, condition=condition,
    )  # fmt: skip
    rows = _rows(opened.data)
    with opened.evaluating():
        u = opened.u(rows)
        seen = {"x": opened.x(rows)} | ({} if u is None else {"u": u})
        first = Traceable(_encoder(opened), opened.module)
        second = Traceable(lambda z, u: (opened.decode(z, u).mean,), opened.module)
        # Decoders of ours see no u.
        beside = {} if u is None or opened.spec is not None else {"u": u}
        codes = first(*seen.values())
        generator = torch.Generator().manual_seed(derive(0, "export"))
        noise = torch.randn(codes[0].shape, generator=generator).to(codes[0])
        draws = noise if noise.ndim > 2 else opened.prior(u).at(noise)
        means, drawn = {"z": codes[0]} | beside, {"z": draws} | beside
        names = OUTPUTS["encoder"][: len(codes)]
        encoder = _graph("encoder", first, seen, names)
        decoder = _graph("decoder", second, means, OUTPUTS["decoder"])
        checks = (
            *_compare(runtime, encoder, "data", seen),
            *_compare(runtime, decoder, "codes", means),
            *_compare(runtime, decoder, PRIOR, drawn),
        )
    result = OnnxExport(
        Path(folder), {"encoder": tuple(seen), "decoder": tuple(means)},
        {"encoder": names, "decoder": OUTPUTS["decoder"]}, checks, tolerance,
    )  # fmt: skip
    _refuse(result)
    with disk_errors(result.folder):
        result.folder.mkdir(parents=True, exist_ok=True)
    replace_file(result.encoder, encoder.content)
    replace_file(result.decoder, decoder.content)
    return result


def _runtime() -> Any:
    try:
        for name in _NEEDED:
            module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        raise UsageError(
            f"Export to ONNX needs {error.name}, which is not installed.",
            "Run: pip install 'vaescope[onnx]'.",
        ) from error
    return module


@dataclass(frozen=True, eq=False)
class _Graph:
    """Encoder or decoder as torch has it and as ONNX has it."""

    file: str
    half: Traceable
    outputs: tuple[str, ...]
    content: bytes


def _graph(
    file: str, half: Traceable, inputs: Mapping[str, Tensor], outputs: tuple[str, ...]
) -> _Graph:
    batch = torch.export.Dim("batch")
    # Sizes of 0 and 1 would be taken for constants.
    few = tuple(tensor[:2].contiguous() for tensor in inputs.values())
    try:
        with _quiet():
            program = torch.onnx.export(
                half, few, dynamo=True, verbose=False, input_names=list(inputs),
                output_names=list(outputs), dynamic_shapes=tuple({0: batch} for _ in few),
            )  # fmt: skip
    except torch.onnx.OnnxExporterError as error:
        cause = str(error.__cause__ or error).strip().splitlines()
        raise _cannot(file, cause[0] if cause else type(error).__name__) from error
    assert program is not None
    graph = program.model.graph
    if any(value.shape is None or value.shape.is_static(0) for value in graph.inputs):
        raise _cannot(file, "its code converts the batch size to a number")
    # Traces of the code, with the paths of this machine.
    for node in graph.all_nodes():
        node.metadata_props.clear()
        node.doc_string = None
    program.model.producer_name, program.model.producer_version = "vaescope", __version__
    return _Graph(file, half, outputs, program.model_proto.SerializeToString(deterministic=True))


def _cannot(file: str, why: str) -> ExportError:
    return ExportError(
        f"torch cannot follow the {file} through batches of any size: {why.rstrip('.')}.",
        "Its code must use torch operations only, without branches on values or a fixed batch "
        "size.",
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's remarks on itself, and without checks of values by distributions that
    the model makes: a graph has no values yet."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    checked = Distribution._validate_args
    Distribution.set_default_validate_args(False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
        Distribution.set_default_validate_args(checked)


def _compare(
    runtime: Any, graph: _Graph, on: str, inputs: Mapping[str, Tensor]
) -> Iterator[OnnxCheck]:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = runtime.InferenceSession(graph.content, options, providers=["CPUExecutionProvider"])
    n = len(next(iter(inputs.values())))
    batches = tuple(sorted({size for size in BATCHES if size <= n} | {n}))
    differences = dict.fromkeys(graph.outputs, 0.0)
    for size in batches:
        some = {name: tensor[:size] for name, tensor in inputs.items()}
        got = session.run(None, {name: _array(tensor) for name, tensor in some.items()})
        wanted = graph.half(*some.values())
        for name, ours, theirs in zip(graph.outputs, wanted, got, strict=True):
            # Not `max` of Python, which may lose a NaN.
            differences[name] = float(np.max([differences[name], _apart(_array(ours), theirs)]))
    exact = _in_float64(graph.half, tuple(inputs.values()))
    for place, name in enumerate(graph.outputs):
        ours = _array(wanted[place])
        largest = float(np.abs(ours).max())
        rounding = None if exact is None else _apart(_array(exact[place]), ours) / max(1.0, largest)
        yield OnnxCheck(graph.file, name, on, n, batches, differences[name], largest, rounding)


def _array(tensor: Tensor) -> Array:
    return tensor.detach().cpu().contiguous().numpy()


def _apart(wanted: Array, got: Array) -> float:
    """The largest difference; infinite where the shapes differ, as NumPy would broadcast them."""
    if wanted.shape != got.shape:
        return math.inf
    with np.errstate(invalid="ignore"):  # of two infinities: NaN, which is refused
        return float(np.abs(wanted - got).max())


def _in_float64(half: Traceable, inputs: Sequence[Tensor]) -> tuple[Tensor, ...] | None:
    """The same in float64, where the model's code allows it: how much float32 itself loses."""
    weights = {**dict(half.named_parameters()), **dict(half.named_buffers())}
    wide = {name: w.double() if w.is_floating_point() else w for name, w in weights.items()}
    try:
        exact: tuple[Tensor, ...] = functional_call(half, wide, tuple(x.double() for x in inputs))
    except RuntimeError:  # anybody's code: it may insist on float32
        return None
    return exact


def _refuse(result: OnnxExport) -> None:
    for check in result.checks:
        # Written so that NaN is refused too.
        if check.on != PRIOR and not check.difference <= result.tolerance:
            own = "" if check.rounding is None else f" (torch's own rounding: {check.rounding:.1e})"
            raise ExportError(
                f"{check.output} of {check.file}.onnx differs from torch by "
                f"{check.difference:.1e} on {check.on}{own}, more than {result.tolerance:g}; "
                "nothing was written.",
                "Set a larger tolerance (--tolerance) if that is close enough. If the means "
                "depend on samples that the model draws, no exporter can follow them: pass "
                "encode=, a function that returns (mean, logvar).",
            )
