"""The scene of Shapes3D by ray casting. Burgess and Kim 2018, https://github.com/deepmind/3d-shapes.

Camera, room, solids and light were fitted to the 25 frames of different geometry in that
repository's animation: on average 15 of 4,096 pixel centres meet another surface, and a channel is
off by 0.018 of its range. The walls' texture is left out.

Hues only colour a scene, so the 480 geometries are cast once, with 16 rays to a pixel, into the
share of every pixel that each surface fills and how brightly; an image is those shares times
colours, in whole numbers, hence the same to the last bit in any batch.
"""

import colorsys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from vaescope.errors import UsageError
from vaescope.types import Double, Integers

__all__ = [
    "ORIENTATIONS",
    "PALETTE",
    "SCALES",
    "SHAPES",
    "Scenes",
    "hue_colour",
    "render",
]

SHAPES = ("cube", "cylinder", "sphere", "capsule")
SCALES = np.linspace(0.75, 1.25, 8)
ORIENTATIONS = np.linspace(-30.0, 30.0, 15)  # degrees

#: Ten hues 0.1 apart at full saturation and value, RGB.
PALETTE: NDArray[np.uint8] = np.array(
    [
        (255, 0, 0),
        (255, 153, 0),
        (204, 255, 0),
        (51, 255, 0),
        (0, 255, 102),
        (0, 255, 255),
        (0, 102, 255),
        (51, 0, 255),
        (204, 0, 255),
        (255, 0, 153),
    ],
    dtype=np.uint8,
)

# The object stands on the floor at the origin; y points to the back wall, z up. The side walls set
# the unit: 7 between them, as in the room of the GQN data that the original was made with.
_SIDE, _BACK, _WALL_HEIGHT = 3.5, 3.69, 1.926
_CAMERA_DISTANCE, _CAMERA_HEIGHT, _LOOKS_AT, _FIELD_OF_VIEW = 2.495, 0.662, 0.684, 45.98
_CUBE = 0.323  # half a side
_CYLINDER = (0.306, 0.672)  # radius, height
_BALL = (0.385, 0.0)  # radius, length between the centres of its ends
_CAPSULE = (0.296, 0.602)
_SKY_COLOUR = (153.0, 226.0, 249.0)

# A lamp that hangs in the room and casts the shadow, and one at the camera that casts none.
_LAMP = np.array([[-1.38], [0.48], [7.01]])
_LAMPLIGHT, _HIGHLIGHT = 0.95, 0.1
_ROOM_LIGHT = (0.12, 0.74)  # ambient, camera
_OBJECT_LIGHT = (0.40, 0.54)  # the object shines a little by itself

_RAYS = 4  # along each side of a pixel
_SKY, _FLOOR, _WALL, _OBJECT = 3, 0, 1, 2
_WORKERS = 2  # NumPy lets go of the interpreter lock

Vectors = Double  # (3, rays)
Scalars = Double  # (rays,)


@dataclass(frozen=True, eq=False)
class Scenes:
    """Geometries ready to be coloured, in 1/256 of a colour step."""

    shares: NDArray[np.uint16]  # (scene, [floor, wall, object], pixel): at most 256 in all
    fixed: NDArray[np.uint16]  # (scene, channel, pixel): sky and highlights, and a half to round
    size: int

    def images(self, scene: Integers, colours: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Images (n, 3, size, size); `colours` has floor, wall, object: shape (n, 3, channel)."""
        hue = colours.astype(np.uint16)
        shares = self.shares[scene]
        total = self.fixed[scene]
        for region in (_FLOOR, _WALL, _OBJECT):
            total += shares[:, region, None, :] * hue[:, region, :, None]
        total >>= 8
        return total.astype(np.uint8).reshape(-1, 3, self.size, self.size)


def hue_colour(position: float) -> NDArray[np.uint8]:
    """RGB of a hue at full saturation and value; whole positions are those of `PALETTE`, and 10 is
    red again."""
    rgb = colorsys.hsv_to_rgb(position / 10.0 % 1.0, 1.0, 1.0)
    return np.rint(255.0 * np.array(rgb)).astype(np.uint8)


def render(
    scale: Sequence[float], shape: Sequence[int], orientation: Sequence[float], *, size: int = 64
) -> Scenes:
    """Every geometry of the product grid, C-order; arguments are class indices. Those of scale and
    orientation may lie between two official ones: 3.5 is halfway between the values of 3 and 4.

    Drawn at `size` pixels, not down-sampled. Looks like Shapes3D, is not the official file: call it
    "rendered Shapes3D".

    >>> scenes = render([0], [0], [7])
    >>> red, lime, azure = PALETTE[[0, 3, 6]]
    >>> scenes.images(np.array([0]), np.array([[red, lime, azure]]))[0, :, 0, 0].tolist()  # sky
    [153, 226, 249]
    """
    if size <= 0:
        raise UsageError(
            f"shapes3d-rendered needs a positive image size; got {size}.",
            "Take 64, the size of the official images, or 32.",
        )
    views = {turn: _view(_between(turn, ORIENTATIONS), size) for turn in orientation}
    grid = list(product(scale, shape, orientation))
    shares = np.empty((len(grid), 3, size * size), dtype=np.uint16)
    fixed = np.empty_like(shares)

    def draw(number: int) -> None:
        size_class, kind, turn = grid[number]
        shares[number], fixed[number] = _scene(
            views[turn], SHAPES[kind], _between(size_class, SCALES), size
        )

    with ThreadPoolExecutor(_WORKERS) as pool:
        for _ in pool.map(draw, range(len(grid))):
            pass
    return Scenes(shares, fixed, size)


def _between(position: float, values: Double) -> float:
    return float(np.interp(position, np.arange(len(values)), values))


@dataclass(frozen=True, eq=False)
class _View:
    """The empty room from one side, ray by ray."""

    camera: Vectors  # (3, 1)
    rays: Vectors  # unit length
    pixel: NDArray[np.intp]
    region: NDArray[np.intp]
    light: Scalars
    floor: NDArray[np.intp]  # rays that meet the floor,
    floor_points: Vectors  # where,
    floor_to_lamp: Vectors  # which way the lamp is,
    floor_shade: Scalars  # and their light without it


def _view(degrees: float, size: int) -> _View:
    turn = np.deg2rad(degrees)
    camera = np.array(
        [
            [_CAMERA_DISTANCE * np.sin(turn)],
            [-_CAMERA_DISTANCE * np.cos(turn)],
            [_CAMERA_HEIGHT],
        ]
    )
    ahead = _unit(np.array([[0.0], [0.0], [_LOOKS_AT]]) - camera)
    right = np.array([[np.cos(turn)], [np.sin(turn)], [0.0]])
    up = np.cross(right, ahead, axis=0)
    steps = (np.arange(size * _RAYS) + 0.5) / (size * _RAYS) * 2.0 - 1.0
    steps *= np.tan(np.deg2rad(_FIELD_OF_VIEW) / 2.0)
    down, across = (grid.ravel() for grid in np.meshgrid(steps, steps, indexing="ij"))
    rays = _unit(ahead + across * right - down * up)

    x, y, z = rays
    with np.errstate(divide="ignore"):  # a level ray meets the floor at infinity
        to_floor = np.where(z < 0.0, -_CAMERA_HEIGHT / z, np.inf)
        to_side = (np.copysign(_SIDE, x) - camera[0]) / x
    to_back = (_BACK - camera[1]) / y
    to_wall = np.minimum(to_side, to_back)
    points = camera + np.minimum(to_floor, to_wall) * rays
    floor = to_floor < to_wall
    region = np.where(floor, _FLOOR, np.where(points[2] < _WALL_HEIGHT, _WALL, _SKY))
    side = ~floor & (to_side < to_back)
    normals = np.stack([-np.sign(x) * side, -1.0 * (~floor & ~side), 1.0 * floor])

    shade = _shade(points, normals, camera, _ROOM_LIGHT)
    light = np.minimum(shade + _LAMPLIGHT * _lamp(points, normals), 1.0)
    light[region == _SKY] = 1.0
    pixel = np.arange(size**2).reshape(size, size).repeat(_RAYS, axis=0).repeat(_RAYS, axis=1)
    found = np.flatnonzero(floor)
    return _View(
        camera,
        rays,
        pixel.ravel(),
        region,
        light,
        found,
        points[:, found],
        _unit(_LAMP - points[:, found]),
        shade[found],
    )


def _scene(
    view: _View, shape: str, scale: float, size: int
) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Shares of the surfaces, and what does not depend on hues."""
    solid = _SOLIDS[shape]
    region, light = view.region.copy(), view.light.copy()

    # Lengths in units of the object: a scaled object is a scaled room.
    near = _passing(view.floor_points, view.floor_to_lamp, scale, solid)
    distance = solid.depth(view.floor_points[:, near] / scale, view.floor_to_lamp[:, near])
    shadow = near[np.isfinite(distance)]
    light[view.floor[shadow]] = view.floor_shade[shadow]

    seen = _passing(view.camera, view.rays, scale, solid)
    distance = solid.depth(view.camera / scale, view.rays[:, seen])
    seen, distance = seen[np.isfinite(distance)], distance[np.isfinite(distance)]
    local = view.camera / scale + distance * view.rays[:, seen]
    points, normals = local * scale, solid.normal(local)
    lamp = _lamp(points, normals)
    shade = _shade(points, normals, view.camera, _OBJECT_LIGHT)
    # A highlight is white and takes the place of colour: together they never pass white.
    highlight = _HIGHLIGHT * lamp
    region[seen] = _OBJECT
    light[seen] = np.minimum(shade + _LAMPLIGHT * lamp, 1.0) * (1.0 - highlight)

    shares = np.bincount(region * size**2 + view.pixel, light, 4 * size**2) / _RAYS**2
    shares = shares.reshape(4, -1)
    white = np.bincount(view.pixel[seen], highlight, size**2) / _RAYS**2
    fixed = shares[_SKY] * np.array(_SKY_COLOUR)[:, None] + 255.0 * white
    return (
        np.floor(256.0 * shares[:3]).astype(np.uint16),
        np.floor(256.0 * fixed + 128.0).astype(np.uint16),
    )


def _shade(
    points: Vectors, normals: Vectors, camera: Vectors, strengths: tuple[float, float]
) -> Scalars:
    """Light that reaches the shadow: ambient, and from the camera."""
    ambient, headlight = strengths
    facing: Scalars = np.maximum(_dot(normals, _unit(camera - points)), 0.0)
    return ambient + headlight * facing


def _lamp(points: Vectors, normals: Vectors) -> Scalars:
    """A spot that looks straight down and fades with the sixth power of the cosine."""
    to_lamp = _unit(_LAMP - points)
    cube: Scalars = to_lamp[2] * to_lamp[2] * to_lamp[2]
    facing: Scalars = np.maximum(_dot(normals, to_lamp), 0.0)
    return facing * cube * cube


def _passing(origin: Vectors, rays: Vectors, scale: float, solid: "_Solid") -> NDArray[np.intp]:
    """Rays that come near the object: a cheap sieve before the real test."""
    middle = np.array([[0.0], [0.0], [solid.middle * scale]]) - origin
    along = _dot(middle, rays)
    return np.flatnonzero(_dot(middle, middle) - along * along < (solid.reach * scale) ** 2)


def _dot(a: Vectors, b: Vectors) -> Scalars:
    return np.asarray(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.sqrt(_dot(vectors, vectors)))


def _cube_depth(origin: Vectors, rays: Vectors) -> Scalars:
    """Distance to the cube that stands on the floor; infinite where it is missed."""
    middle = np.array([[0.0], [0.0], [_CUBE]])
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (middle - _CUBE - origin) / rays, (middle + _CUBE - origin) / rays
    enters, leaves = np.minimum(one, other).max(axis=0), np.maximum(one, other).min(axis=0)
    return np.where((enters < leaves) & (leaves > 0.0), enters, np.inf)


def _cube_normal(points: Vectors) -> Vectors:
    local = points - np.array([[0.0], [0.0], [_CUBE]])
    face = np.abs(local).argmax(axis=0)
    return np.where(np.arange(3)[:, None] == face, np.sign(local), 0.0)


def _tube_depth(origin: Vectors, rays: Vectors, radius: float) -> tuple[Scalars, Scalars]:
    """Where rays enter and leave an endless upright tube; NaN where they miss it."""
    a = rays[0] ** 2 + rays[1] ** 2
    b = origin[0] * rays[0] + origin[1] * rays[1]
    c = origin[0] ** 2 + origin[1] ** 2 - radius**2
    with np.errstate(invalid="ignore"):
        root = np.sqrt(b * b - a * c)
    return (-b - root) / a, (-b + root) / a


def _cylinder_depth(origin: Vectors, rays: Vectors) -> Scalars:
    radius, height = _CYLINDER
    enters, leaves = _tube_depth(origin, rays, radius)
    bottom, top = -origin[2] / rays[2], (height - origin[2]) / rays[2]
    enters = np.maximum(enters, np.minimum(bottom, top))
    leaves = np.minimum(leaves, np.maximum(bottom, top))
    return np.where((enters < leaves) & (leaves > 0.0), enters, np.inf)


def _cylinder_normal(points: Vectors) -> Vectors:
    radius, height = _CYLINDER
    top = points[2] > height - 1e-9
    return np.where(top, np.array([[0.0], [0.0], [1.0]]), points * [[1.0], [1.0], [0.0]] / radius)


def _capsule(radius: float, length: float) -> "_Solid":
    """A ball drawn out upwards by `length`."""

    def depth(origin: Vectors, rays: Vectors) -> Scalars:
        side, _ = _tube_depth(origin, rays, radius)
        height = origin[2] + side * rays[2]
        nearest = np.where((height > radius) & (height < radius + length), side, np.inf)
        for end in (radius, radius + length):
            middle = np.array([[0.0], [0.0], [end]]) - origin
            along = _dot(middle, rays)
            inside = radius**2 - (_dot(middle, middle) - along * along)
            ball = np.where(inside > 0.0, along - np.sqrt(np.maximum(inside, 0.0)), np.inf)
            nearest = np.minimum(nearest, ball)
        return nearest

    def normal(points: Vectors) -> Vectors:
        spine = np.clip(points[2], radius, radius + length)
        return np.stack([points[0], points[1], points[2] - spine]) / radius

    return _Solid(depth, normal, radius + length / 2.0, radius + length / 2.0)


@dataclass(frozen=True)
class _Solid:
    """An object at scale 1, standing on the floor at the origin."""

    depth: Callable[[Vectors, Vectors], Scalars]  # along rays; infinite where they miss it
    normal: Callable[[Vectors], Vectors]  # outwards at its points
    middle: float  # height of the ball that holds it
    reach: float  # radius of that ball


_SOLIDS = {
    "cube": _Solid(_cube_depth, _cube_normal, _CUBE, _CUBE * 3.0**0.5),
    "cylinder": _Solid(
        _cylinder_depth,
        _cylinder_normal,
        _CYLINDER[1] / 2.0,
        float(np.hypot(_CYLINDER[0], _CYLINDER[1] / 2.0)),
    ),
    "sphere": _capsule(*_BALL),
    "capsule": _capsule(*_CAPSULE),
}
