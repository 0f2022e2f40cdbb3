"""What a latent does to images, where no factor names it: moves, resizes or brightens them.

A name is given only if a stated test passes. Along the latent's traversal each image is compared
with the middle one, which is moved, resized or brightened to fit it. The kind of change that
explains the most is the name if it explains `EXPLAINED` of the squared change, the others explain
less by `LEAD`, and the change itself is `LEAST` or more. It is one traversal from one example:
"position-like", not "position".
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from vaescope.types import Floats

__all__ = ["DecoderName", "decoder_name"]

Kind = Literal["position-like", "size-like", "brightness-like"]

#: Of the squared change, that the best kind explains at least, and more than any other.
EXPLAINED, LEAD = 0.8, 0.2
#: Pixels of a side that are looked at: more take time and say no more.
PIXELS = 64
#: Least change that has a name: of the place in shares of the image's side, of size and
#: brightness as the ratio of the largest to the smallest, less one.
LEAST: dict[Kind, float] = {"position-like": 0.1, "size-like": 0.2, "brightness-like": 0.2}


@dataclass(frozen=True)
class DecoderName:
    """A kind of change, the share of the squared change that it explains, and where to."""

    kind: Kind
    explained: float
    how: str  # "moves what is drawn across", "resizes what is drawn"


@dataclass(frozen=True, eq=False)
class _Ink:
    """What stands out from the background: how much, where, and how wide."""

    amount: float
    place: Floats  # (2,) row and column
    radius: float


def decoder_name(images: Floats) -> DecoderName | None:
    """The name of a latent whose traversal gives these images, (steps, channels, height, width);
    None where the test does not pass."""
    every = -(-max(images.shape[-2:]) // PIXELS)
    grey = np.asarray(images[..., ::every, ::every], dtype=np.float64).mean(axis=1)
    middle = grey[len(grey) // 2]
    change = float(np.square(grey - middle).sum())
    if change <= 0.0 or not np.isfinite(change):
        return None
    edge = np.concatenate([middle[0], middle[-1], middle[:, 0], middle[:, -1]])
    inks = [_ink(image, float(np.median(edge))) for image in grey]
    known = [ink for ink in inks if ink is not None]
    if len(known) < len(grey):
        return None  # an empty image has no place
    own = known[len(known) // 2]
    fits = {
        "position-like": [_resized(middle, own, ink.place, 1.0) for ink in known],
        "size-like": [_resized(middle, own, own.place, ink.radius / own.radius) for ink in known],
        "brightness-like": [_brightened(middle, image) for image in grey],
    }
    explained = {
        kind: 1.0 - float(np.square(np.stack(fit) - grey).sum()) / change
        for kind, fit in fits.items()
    }
    kind: Kind = max(explained, key=explained.__getitem__)  # type: ignore[assignment]
    others = max(share for other, share in explained.items() if other != kind)
    size, how = _size(kind, known, grey.shape[1:])
    if explained[kind] < EXPLAINED or explained[kind] - others < LEAD or size < LEAST[kind]:
        return None
    return DecoderName(kind, explained[kind], how)


def _ink(image: Floats, background: float) -> _Ink | None:
    weight = np.abs(image - background)
    amount = float(weight.sum())
    if amount <= 1e-6 * weight.size:
        return None
    grid = np.stack(np.meshgrid(*map(np.arange, image.shape), indexing="ij"))
    place = np.asarray((grid * weight).sum(axis=(1, 2)) / amount)
    off = np.square(grid - place[:, None, None]).sum(axis=0)
    return _Ink(amount, place, float(np.sqrt((off * weight).sum() / amount)) or 1.0)


def _resized(image: Floats, own: _Ink, place: Floats, factor: float) -> Floats:
    """The image with its ink at another place and so much larger."""
    from scipy.ndimage import affine_transform  # here: `inspect` without images leaves it out

    # affine_transform asks where each pixel of the result comes from.
    offset = own.place - place / factor
    return np.asarray(
        affine_transform(image, np.eye(2) / factor, offset=offset, order=1, mode="nearest")
    )


def _brightened(image: Floats, wanted: Floats) -> Floats:
    """a image + b nearest to the wanted one."""
    slope, height = np.polyfit(image.ravel(), wanted.ravel(), 1) if np.ptp(image) else (0.0, 0.0)
    return np.asarray(slope * image + height)


def _size(kind: Kind, inks: list[_Ink], shape: tuple[int, ...]) -> tuple[float, str]:
    """How large the change is in the units of `LEAST`, and what it does in words."""
    if kind == "position-like":
        reach = np.ptp([ink.place / shape for ink in inks], axis=0)
        ways = ("down", "across") if reach.min() < 0.5 * reach.max() else ("diagonally",) * 2
        return float(reach.max()), f"moves what is drawn {ways[int(reach.argmax())]}"
    values = [ink.radius if kind == "size-like" else ink.amount for ink in inks]
    how = "resizes what is drawn" if kind == "size-like" else "brightens what is drawn"
    return max(values) / min(values) - 1.0, how
