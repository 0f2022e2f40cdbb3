"""The decoder itself on the page: sliders for its latents, and its weights as text."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from vaescope.inspection import Inspection
from vaescope.inspection.layers import reaches
from vaescope.inspection.network import Affine, Layer, Network, Pointwise, Resize, Scaled, Take
from vaescope.report.latents import factor_of
from vaescope.report.page import Dial, Prose, Section, Sliders
from vaescope.report.pictures import BUDGET
from vaescope.traversals import Traversals
from vaescope.types import Array, Floats

__all__ = ["ROOM", "budget_beside", "packed", "sliders", "without_room"]

#: Bytes of a report, at most: it must stay one that can be mailed.
ROOM = 5_000_000
#: What of it the page itself takes: the code that draws the figures, and their numbers.
FIXED = 1_200_000
#: Latents that have a slider, the most certain ones.
SHOWN = 40


def sliders(inspection: Inspection, *, images: bool) -> Section | None:
    """All latents to be moved by hand, where the decoder can run on the page."""
    network, moved = inspection.network, inspection.traversals
    if network is None or moved is None or not images:
        return None
    few = inspection.latents[:SHOWN]
    start = (moved.base - moved.centre) / moved.scale
    ends = reaches(start)
    dials = tuple(
        Dial(z.index, *ends[z.index], _short(start[z.index]), z.type, factor_of(inspection, z))
        for z in few
    )
    held = len(inspection.latents) - len(few)
    rest = f" The {held} latents of largest variance stay where they are." if held else ""
    part = Sliders(
        "Move one or several latents. The sliders start where the traversals do; passive latents "
        "are "
        f"dimmed.{rest}" + (f" Values are in {moved.units}." if moved.units else ""),
        "The decoder's image at these latents.",
        dials,
        {**packed(network), **_places(moved)},
    )
    text = (
        f"The decoder's {network.parameters:,} parameters are in this file, at {_bits(network)} "
        f"bits each: its images are within {_bound(network.deviation)} of the model's own, over "
        "the ends of all sliders and codes drawn between them."
    )
    lead = "The decoder runs on this page: nothing is sent anywhere."
    return Section("sliders", "Sliders", lead, (part, Prose(text, aside=True)))


def _places(moved: Traversals) -> dict[str, list[float]]:
    """Where the latents are to begin with, and the units of the sliders."""
    places: dict[str, Floats | float] = {"base": moved.base}
    if moved.units:
        places |= {"centre": moved.centre, "scale": moved.scale}
    return {
        name: [_short(value) for value in np.broadcast_to(values, moved.base.shape)]
        for name, values in places.items()
    }


def _bits(network: Network) -> int:
    affine = [own for own in network.layers if isinstance(own, Affine)]
    return 16 if all(_whole(own) for own in affine) else 32


def _short(value: Any) -> float:
    return float(f"{value:.6g}")


def _bound(deviation: float) -> str:
    """One digit, rounded up: what is said to be within it is.

    >>> _bound(0.00011), _bound(0.0002), _bound(0.0)
    ('0.0002', '0.0002', '0')
    """
    exponent = np.floor(np.log10(max(deviation, 1e-6)))
    digits = int(np.ceil(deviation / 10**exponent - 1e-9))
    return f"{digits * 10**exponent:.6f}".rstrip("0").rstrip(".")


def packed(network: Network) -> dict[str, Any]:
    """The network as the page's script reads it: layers, and their arrays one after the other."""
    whole = [own.weight.ravel() for own in network.layers if _whole(own)]
    odd = np.zeros(sum(map(len, whole)) % 2, dtype="<i2")  # whole groups of four bytes
    return {
        "shape": network.shape,
        "layers": [_described(layer) for layer in network.layers],
        "weights": _text(np.concatenate([*(own.astype("<i2") for own in whole), odd])),
        "singles": _text(_joined([_singles(layer) for layer in network.layers], "<f4")),
        "orders": _text(
            _joined([own.order for own in network.layers if isinstance(own, Take)], "<i4")
        ),
    }


def _whole(layer: Layer) -> TypeGuard[Affine]:
    return isinstance(layer, Affine) and layer.weight.dtype == np.int16


def _joined(arrays: Sequence[Array], kind: str) -> Array:
    return np.concatenate([np.zeros(0, kind), *(own.ravel().astype(kind) for own in arrays)])


def _singles(layer: Layer) -> Array:
    """Numbers of 32 bits of a layer, in the order in which the script reads them."""
    if isinstance(layer, Affine):
        own = () if _whole(layer) else (layer.weight,)
        return _joined([*own, layer.scale, layer.bias], "<f4")
    if isinstance(layer, Scaled):
        return _joined([layer.scale, layer.shift], "<f4")
    return layer.matrix if isinstance(layer, Resize) else np.zeros(0)


def _described(layer: Layer) -> dict[str, Any]:
    source = {"source": layer.source} if layer.source else {}
    if isinstance(layer, Affine):
        kernel, _, inputs, outputs = layer.weight.shape
        return source | {
            "kind": "affine", "size": layer.size, "kernel": kernel, "inputs": inputs,
            "outputs": outputs, "stride": layer.stride, "padding": layer.padding,
            "extra": layer.extra, "exact": not _whole(layer),
        }  # fmt: skip
    if isinstance(layer, Pointwise):
        return source | {"kind": layer.name, "slope": layer.slope, "high": layer.high}
    if isinstance(layer, Scaled):
        return source | {"kind": "scaled", "length": len(layer.scale)}
    if isinstance(layer, Take):
        return source | {"kind": "take", "length": len(layer.order)}
    if isinstance(layer, Resize):
        grown, size = layer.matrix.shape
        return source | {
            "kind": "resize", "size": size, "grown": grown, "channels": layer.channels
        }  # fmt: skip
    return source | {"kind": layer.kind}


def _text(array: Array) -> str:
    """In base 85, which takes a sixteenth less than base 64: what lets 1.5 million weights fit.
    Three of its digits would need escapes in a script element and are replaced."""
    digits = base64.b85encode(array.tobytes()).translate(bytes.maketrans(b"&<>", b",.:"))
    return digits.decode("ascii")


def budget_beside(network: Network | None) -> int:
    """Bytes that pictures of one kind may take on a page with this decoder."""
    if network is None:
        return BUDGET
    left = ROOM - FIXED - 1.25 * _bits(network) / 8 * network.parameters  # in base 85
    return int(min(BUDGET, max(0.0, left) * 0.75 / 3))  # three kinds, in base 64


def without_room(inspection: Inspection, size: int) -> Inspection:
    """The same without its decoder, which would make the page this large."""
    reason = (
        f"with the decoder this file would have {size / 1e6:.1f} MB; the limit is "
        f"{ROOM / 1e6:.0f} MB."
    )
    return replace(inspection, network=None, skipped={**inspection.skipped, "sliders": reason})
