"""Colour-, noisy- and Scream-dSprites, and pixel noise. Locatello et al. 2019,
https://arxiv.org/abs/1811.12359; defined by disentanglement_lib's data/ground_truth/dsprites.py.

There an image gets new colours whenever it is drawn. Here they are a function of the seed and of
the image's number in the full grid, so that a dataset is one fixed set of images: the same in any
batch, any sub-grid and any process.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vaescope.data.arrays import reading
from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset, grid_choice
from vaescope.data.dsprites import FACTORS, dsprites
from vaescope.data.files import locate
from vaescope.data.stores import Store
from vaescope.errors import DataError, UsageError
from vaescope.seeds import derive
from vaescope.types import Integers, Single

__all__ = [
    "CARDS",
    "Varied",
    "dsprites_colour",
    "dsprites_noisy",
    "dsprites_scream",
    "uniform",
    "with_pixel_noise",
]

_PAINTING = File(
    "scream.jpg",
    "https://upload.wikimedia.org/wikipedia/commons/f/f4/The_Scream.jpg",
    instead=(File("the_scream.jpg"),),
)


def _card(
    name: str,
    notes: str,
    files: tuple[File, ...] = (),
    how: str = "",
    folders: tuple[str, ...] = (),
) -> Card:
    return Card(
        name,
        (3, 64, 64),
        FACTORS.n,
        "Apache-2.0",
        "locatello2019",
        dict(zip(FACTORS.names, FACTORS.sizes, strict=True)),
        files,
        how,
        f"re-rendered dSprites, {notes}; drawn at 64, 32 or 16 pixels",
        folders,
    )


CARDS = {
    "dsprites-colour": _card("dsprites-colour", "each sprite in a different colour"),
    "dsprites-noisy": _card("dsprites-noisy", "on uniform noise"),
    "dsprites-scream": _card(
        "dsprites-scream",
        "on patches of Munch's painting",
        (_PAINTING,),
        "Any photograph of The Scream (public domain) is suitable.",
        ("scream",),
    ),
}

Images = Single


@dataclass(frozen=True, eq=False)
class Varied:
    """Images of another store, each changed by randomness of its own."""

    plain: Store
    numbers: Integers | None  # what each row's randomness comes from; None: from its place
    vary: Callable[[Images, Integers], Images]
    channels: int
    range: tuple[float, float] = (0.0, 1.0)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.channels, *self.plain.shape[1:])

    def __len__(self) -> int:
        return len(self.plain)

    def rows(self, index: Integers) -> Images:
        numbers = index if self.numbers is None else self.numbers[index]
        return self.vary(self.plain.rows(index), numbers)


def dsprites_colour(
    *, size: int = 64, grid: Mapping[str, Sequence[int]] | None = None, generator_seed: int = 0
) -> Dataset:
    """Each sprite in one random colour, every channel uniform on [0.5, 1), on black."""
    return _varied("dsprites-colour", partial(_colour, seed=generator_seed), size, grid)


def dsprites_noisy(
    *, size: int = 64, grid: Mapping[str, Sequence[int]] | None = None, generator_seed: int = 0
) -> Dataset:
    """White sprites on a background of RGB noise, uniform on [0, 1)."""
    return _varied("dsprites-noisy", partial(_noisy, seed=generator_seed), size, grid)


def dsprites_scream(
    *, size: int = 64, grid: Mapping[str, Sequence[int]] | None = None, generator_seed: int = 0
) -> Dataset:
    """A random patch of The Scream, half mixed with a random colour; the sprite inverts it."""
    painting = _painting(size)
    vary = partial(_scream, painting=painting, seed=generator_seed)
    return _varied("dsprites-scream", vary, size, grid)


def with_pixel_noise(dataset: Dataset, epsilon: float, seed: int) -> Dataset:
    """Images with noise uniform on [-epsilon, epsilon] on every pixel, frozen per image.

    zietlow2022 section 4: the control for a learned perturbation of the same size. What leaves [0,
    1] is reflected back, y - 2 relu(y - 1) + 2 relu(-y), so no pixel moves by more than epsilon.
    Noise belongs to the place of a row: add it before picking rows.
    """
    if len(dataset.shape) != 3 or dataset.store.range != (0.0, 1.0):
        raise UsageError(
            f"Pixel noise needs images in [0, 1]; {dataset.name} has rows of shape {dataset.shape} "
            f"in {dataset.store.range}.",
            "Use a dataset of images.",
        )
    if not 0.0 <= epsilon <= 1.0:
        raise UsageError(
            f"Pixel noise must have an epsilon from 0 to 1; got {epsilon}.",
            "The thesis uses 0.1 for dSprites and 0.175 for Shapes3D.",
        )
    vary = partial(_jittered, epsilon=epsilon, seed=seed)
    store = Varied(dataset.store, None, vary, dataset.shape[0])
    return replace(dataset, store=store, recipe=None)


def uniform(seed: int, stream: str, numbers: Integers, count: int) -> Single:
    """`count` numbers uniform on [0, 1) for each of `numbers`: shape (n, count).

    splitmix64 (Steele et al. 2014) with one sequence per number. In steps of 2^-16, finer than any
    image: one 64-bit hash gives four.
    """
    words = -(-count // 4)
    with np.errstate(over="ignore"):  # arithmetic is meant to wrap
        start = _mixed(np.uint64(derive(seed, stream)) + numbers.astype(np.uint64) * _GOLDEN)
        state = start[:, None] + np.arange(1, words + 1, dtype=np.uint64) * _GOLDEN
        hashes = _mixed(state)
    steps = hashes.view(np.uint16)[:, :count]
    return np.multiply(steps, np.float32(2.0**-16), dtype=np.float32)


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """splitmix64's finaliser."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _varied(
    name: str,
    vary: Callable[[Images, Integers], Images],
    size: int,
    grid: Mapping[str, Sequence[int]] | None,
) -> Dataset:
    if size not in (16, 32, 64):
        raise UsageError(f"{name} has 64, 32 or 16 pixels a side; got {size}.", "Set data.size=64.")
    plain = dsprites(size=size, grid=grid)
    keep = grid_choice(FACTORS.names, FACTORS.sizes, grid or {})
    numbers = np.ravel_multi_index(np.ix_(*keep), FACTORS.sizes).ravel()
    return Dataset(CARDS[name], Varied(plain.store, numbers, vary, 3), plain.factors)


def _colour(sprites: Images, numbers: Integers, *, seed: int) -> Images:
    colour = 0.5 + 0.5 * uniform(seed, "dsprites-colour", numbers, 3)
    return sprites * colour[:, :, None, None]


def _noisy(sprites: Images, numbers: Integers, *, seed: int) -> Images:
    n, _, height, width = sprites.shape
    noise = uniform(seed, "dsprites-noisy", numbers, 3 * height * width)
    return np.maximum(noise.reshape(n, 3, height, width), sprites)  # min(sprite + noise, 1)


def _scream(sprites: Images, numbers: Integers, *, painting: Images, seed: int) -> Images:
    height, width = sprites.shape[2:]
    random = uniform(seed, "dsprites-scream", numbers, 5)
    # As in disentanglement_lib the last row and the last column of patches are never chosen.
    places = np.array(painting.shape[1:]) - (height, width)
    down, across = (random[:, 3:] * places).astype(np.int64).T
    patches = np.lib.stride_tricks.sliding_window_view(painting, (height, width), axis=(1, 2))
    mixed = patches.transpose(1, 2, 0, 3, 4)[down, across] + random[:, :3, None, None]
    background: Images = np.multiply(mixed, 0.5, dtype=np.float32)
    return np.abs(np.subtract(sprites, background))  # 1 - background on the sprite


def _jittered(images: Images, numbers: Integers, *, epsilon: float, seed: int) -> Images:
    noise = uniform(seed, "pixel-noise", numbers, int(np.prod(images.shape[1:])))
    moved: Images = np.float32(2.0 * epsilon) * (noise.reshape(images.shape) - np.float32(0.5))
    moved += images
    return np.float32(1.0) - np.abs(np.float32(1.0) - np.abs(moved))  # reflected at 0, then at 1


def _painting(size: int) -> Images:
    """The painting, shrunk to fit 350 x 274 for images of 64 pixels: (3, height, width)."""
    from PIL import Image

    card = CARDS["dsprites-scream"]
    path = locate(card, card.files[0])
    with reading(path), Image.open(path) as file:
        file.thumbnail((350 * size // 64, 274 * size // 64))
        picture = file.convert("RGB")
    pixels = np.asarray(picture, dtype=np.float32).transpose(2, 0, 1) / np.float32(255.0)
    if min(pixels.shape[1:]) <= size:
        raise DataError(
            f"{path} shrinks to {picture.width} x {picture.height} pixels; patches of {size} do "
            "not fit.",
            "Put a photograph of the whole painting there.",
        )
    return np.ascontiguousarray(pixels)
