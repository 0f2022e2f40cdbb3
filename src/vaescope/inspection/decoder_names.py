"""What a latent does to images, where no factor names it: moves, resizes or brightens them.

A name is given only if a stated test passes. Along the latent's traversal each image is compared
with the middle one, which is moved, resized or brightened to fit it. The kind of change that
explains the most counts if it explains `EXPLAINED` of the squared change, the others explain less
by `LEAD`, and the change itself is `LEAST` or more. It is the latent's name if it counts from
`AGREEING` of `EXAMPLES` examples, in the same direction, and from none does another: a latent of an
entangled model moves one example and reshapes the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from vaescope.traversals import Decode
from vaescope.types import Floats

__all__ = ["DecoderName", "decoder_name", "decoder_names"]

Kind = Literal["position-like", "size-like", "brightness-like"]

#: Of the squared change, that the best kind explains at least, and more than any other.
EXPLAINED, LEAD = 0.8, 0.2
#: Pixels of a side that are looked at: more take time and say no more.
PIXELS = 64
#: Examples that traversals start from, and those that must agree; images along each.
EXAMPLES, AGREEING, STEPS = 8, 6, 7
#: Cosine of two directions that are called the same.
SAME = 0.7
#: Latents that are looked at.
LATENTS = 16
#: Least change that has a name: of the place in shares of the image's side, of size and
#: brightness as the ratio of the largest to the smallest, less one.
LEAST: dict[Kind, float] = {"position-like": 0.1, "size-like": 0.2, "brightness-like": 0.2}


@dataclass(frozen=True)
class DecoderName:
    """A kind of change, the share of the squared change that it explains, and where to."""

    kind: Kind
    explained: float
    how: str  # "moves what is drawn across", "resizes what is drawn"
    towards: tuple[float, ...]  # from low to high: rows and columns, or more and less


@dataclass(frozen=True, eq=False)
class _Ink:
    """What stands out from the background: how much, where, and how wide."""

    amount: float
    place: Floats  # (2,) row and column
    radius: float


@torch.inference_mode()
def decoder_names(
    decode: Decode, mean: Floats, latents: Sequence[int], centre: Floats, scale: Floats
) -> dict[int, DecoderName]:
    """Names of those latents for which the test passes, of a decoder of images.

    Args:
        decode: codes to images, (n, channels, height, width).
        mean: (n, d) codes of examples.
        latents: which to look at.
        centre: (d,) mean of the prior; `scale` its standard deviation.
    """
    bases = mean[np.linspace(0, len(mean) - 1, EXAMPLES + 2).astype(np.int64)[1:-1]]
    names = {}
    for latent in latents[:LATENTS]:
        codes = np.repeat(bases[:, None].astype(np.float32), STEPS, axis=1)
        codes[:, :, latent] = centre[latent] + scale[latent] * np.linspace(-2.0, 2.0, STEPS)
        flat = torch.from_numpy(codes.reshape(-1, codes.shape[-1]))
        images = decode(flat).float().cpu().numpy()
        if images.ndim != 4 or images.shape[1] not in (1, 3):
            return {}
        seen = [decoder_name(own) for own in images.reshape(EXAMPLES, STEPS, *images.shape[1:])]
        agreed = _agreed([own for own in seen if own is not None])
        if agreed is not None:
            names[latent] = agreed
    return names


def _agreed(seen: Sequence[DecoderName]) -> DecoderName | None:
    """What all of them say, with the least share; None where too few do or two differ."""
    if len(seen) < AGREEING or len({own.kind for own in seen}) > 1:
        return None
    towards = np.array([own.towards for own in seen])
    common = towards.mean(axis=0)
    sizes = np.linalg.norm(towards, axis=1) * (np.linalg.norm(common) or 1.0)
    if (towards @ common < SAME * sizes).any():
        return None
    how = {own.how for own in seen}
    first = min(seen, key=lambda own: own.explained)
    return first if len(how) == 1 else DecoderName(
        first.kind, first.explained, "moves what is drawn", tuple(common.tolist())
    )  # fmt: skip


def decoder_name(images: Floats) -> DecoderName | None:
    """What one traversal shows, (steps, channels, height, width); None where it is no one kind."""
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
    fits: dict[Kind, list[Floats]] = {
        "position-like": [_resized(middle, own, ink.place, 1.0) for ink in known],
        "size-like": [_resized(middle, own, own.place, ink.radius / own.radius) for ink in known],
        "brightness-like": [_brightened(middle, image) for image in grey],
    }
    explained: dict[Kind, float] = {
        kind: 1.0 - float(np.square(np.stack(fit) - grey).sum()) / change
        for kind, fit in fits.items()
    }
    kind = max(explained, key=explained.__getitem__)
    others = max(share for other, share in explained.items() if other != kind)
    size, how = _size(kind, known, grey.shape[1:])
    if explained[kind] < EXPLAINED or explained[kind] - others < LEAD or size < LEAST[kind]:
        return None
    return DecoderName(kind, explained[kind], how, _towards(kind, known))


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


def _towards(kind: Kind, inks: list[_Ink]) -> tuple[float, ...]:
    first, last = inks[0], inks[-1]
    if kind == "position-like":
        return tuple((last.place - first.place).tolist())
    values = (first.radius, last.radius) if kind == "size-like" else (first.amount, last.amount)
    return (values[1] - values[0],)
