"""Settings of each dataset: what `data.name=... data.key=value` may say."""

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    Strict,
    model_serializer,
)

__all__ = ["CHANGES", "ArraySpec", "DataSpec", "FilesSpec", "PairsSpec", "PerturbedSpec"]


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Seed = Annotated[int, BeforeValidator(_whole), Strict(), Field(ge=0)]
Count = Annotated[int, BeforeValidator(_whole), Strict(), Field(ge=1)]
Positive = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
#: Factor -> the classes to keep; factors that are not named keep all.
Grid = dict[str, list[Annotated[int, BeforeValidator(_whole)]]]

_Arc = Annotated[
    tuple[NonNegative, NonNegative, Annotated[int, BeforeValidator(_whole)]], Strict(False)
]
Arcs = dict[str, _Arc]

_NOISE = ("pixel_noise", "noise_match", "noise_seed")
_CORRELATED = ("correlated", "correlated_rows", "correlated_seed")
#: Settings that change a dataset once it is there, which are not those of its own function.
CHANGES = (*_NOISE, *_CORRELATED)
Correlation = Annotated[float, Strict(), Field(gt=-1, lt=1, allow_inf_nan=False)]


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _ImageSpec(_Spec):
    """Images, with noise on their pixels and correlated factors where that is asked for."""

    #: Uniform on [-e, e], frozen per image: e is this, or by variance sqrt(3) times this, which is
    #: then the noise's standard deviation. What leaves [0, 1] is reflected.
    pixel_noise: Annotated[float, Strict(), Field(ge=0, le=1)] = 0.0
    noise_match: Literal["epsilon", "variance"] = "epsilon"
    noise_seed: Seed = 0
    #: Two factors and the correlation of their classes, e.g. ["x", "scale", 0.6]: rows are drawn so
    #: that they have it (Traeuble et al. 2021); by default as many as there are.
    correlated: Annotated[tuple[str, str, Correlation], Strict(False)] | None = None
    correlated_rows: Count | None = None
    correlated_seed: Seed = 0

    @model_serializer(mode="wrap")
    def _without_no_change(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = plain(self)
        unused = (*(() if self.pixel_noise else _NOISE), *(() if self.correlated else _CORRELATED))
        for name in unused:  # so that runs from before them keep their digest
            content.pop(name, None)
        if not content.get("arcs", True):
            del content["arcs"]
        if content.get("name") == "sprites" and content["size"] == 64:
            del content["size"]
        return content

    @property
    def noise_epsilon(self) -> float:
        """The largest change of a pixel."""
        return self.pixel_noise * (3.0**0.5 if self.noise_match == "variance" else 1.0)


class DspritesSpec(_ImageSpec):
    name: Literal["dsprites"] = "dsprites"
    size: Literal[16, 32, 64] = 64
    grid: Grid = {}

    @property
    def shape(self) -> tuple[int, ...]:
        return (1, self.size, self.size)


class DspritesVariantSpec(_ImageSpec):
    name: Literal["dsprites-colour", "dsprites-noisy", "dsprites-scream"]
    size: Literal[16, 32, 64] = 64
    grid: Grid = {}
    generator_seed: Seed = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, self.size, self.size)


class DspritesOfficialSpec(_ImageSpec):
    name: Literal["dsprites-official"] = "dsprites-official"
    size: Literal[32, 64] = 64

    @property
    def shape(self) -> tuple[int, ...]:
        return (1, self.size, self.size)


class Shapes3DRenderedSpec(_ImageSpec):
    name: Literal["shapes3d-rendered"] = "shapes3d-rendered"
    size: Literal[16, 32, 64] = 64
    grid: Grid = {}
    #: Factor -> first and last class and how many values between, also between official ones.
    arcs: Arcs = {}

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, self.size, self.size)


class ColourImagesSpec(_ImageSpec):
    """Official files whose images are 64x64 RGB and have no settings."""

    name: Literal["shapes3d", "mpi3d-toy", "mpi3d-realistic", "mpi3d-real", "mpi3d-complex"]

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, 64, 64)


class SpritesSpec(_ImageSpec):
    name: Literal["sprites"] = "sprites"
    size: Literal[16, 32, 64] = 64

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, self.size, self.size)


class Cars3DSpec(_ImageSpec):
    name: Literal["cars3d"] = "cars3d"
    size: Literal[64, 128] = 64

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, self.size, self.size)


class SmallnorbSpec(_ImageSpec):
    name: Literal["smallnorb"] = "smallnorb"
    size: Literal[64, 96] = 64

    @property
    def shape(self) -> tuple[int, ...]:
        return (1, self.size, self.size)


class CelebaSpec(_ImageSpec):
    name: Literal["celeba"] = "celeba"
    crop: Annotated[Count, Field(le=178)] = 148

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, 64, 64)


class MnistSpec(_ImageSpec):
    """At 28 pixels as they are; at 32 resized, for the convolutional pair."""

    name: Literal["mnist", "fashion-mnist"]
    size: Literal[28, 32] = 28

    @property
    def shape(self) -> tuple[int, ...]:
        return (1, self.size, self.size)


class GreyImagesSpec(_ImageSpec):
    """Grey images of one size."""

    name: Literal["faces3d", "olivetti", "coil20", "digits"]

    @property
    def shape(self) -> tuple[int, ...]:
        size = {"faces3d": 64, "olivetti": 64, "coil20": 32, "digits": 8}[self.name]
        return (1, size, size)


class PinwheelSpec(_Spec):
    name: Literal["pinwheel"] = "pinwheel"
    classes: Count = 4
    per_class: Count = 100
    radial_std: NonNegative = 0.3
    tangential_std: NonNegative = 0.1
    rate: NonNegative = 0.25
    generator_seed: Seed = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return (2,)


class IcaSegmentsSpec(_Spec):
    name: Literal["ica-segments"] = "ica-segments"
    segments: Count = 40
    per_segment: Count = 1000
    sources: Count = 5
    dimension: Count = 5
    depth: Count = 3
    activation: Literal["xtanh", "leaky-relu"] = "xtanh"
    white: bool = False
    generator_seed: Seed = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dimension,)


class SynthLinearSpec(_Spec):
    name: Literal["synth-linear"] = "synth-linear"
    n: Count = 50_000
    ratio: Positive = 2.0
    noise: NonNegative = 0.0
    generator_seed: Seed = 0

    @model_serializer(mode="wrap")
    def _without_no_noise(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = plain(self)
        if not self.noise:
            content.pop("noise", None)  # so that runs from before it keep their digest
        return content

    @property
    def shape(self) -> tuple[int, ...]:
        return (3,)


class SynthNonlinearSpec(_Spec):
    name: Literal["synth-nonlinear"] = "synth-nonlinear"
    n: Count = 50_000
    initialisation: Literal["normal", "fan-in"] = "normal"
    generator_seed: Seed = 0

    @model_serializer(mode="wrap")
    def _without_normal(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = plain(self)
        if self.initialisation == "normal":
            content.pop("initialisation", None)  # so that runs from before it keep their digest
        return content

    @property
    def shape(self) -> tuple[int, ...]:
        return (6,)


class LinearGaussianSpec(_Spec):
    name: Literal["linear-gaussian"] = "linear-gaussian"
    eigenvalues: Annotated[tuple[Positive, ...], Strict(False)] = (4.0, 2.0, 1.0, 0.5)
    dimension: Count = 8
    noise: NonNegative = 0.0
    n: Count = 10_000
    generator_seed: Seed = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dimension,)


class ArraySpec(_Spec):
    """The user's own rows, known by their content."""

    name: Literal["array"] = "array"
    sha256: str
    n: Count
    event: Annotated[tuple[Count, ...], Strict(False)]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.event


def _text(value: Any) -> Any:
    """A folder may be called 2024, which is a number where settings are read."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class FilesSpec(_Spec):
    """The user's own files, found by their path and known by their content.

    `vaescope.data.user_files.complete` fills the last three in. Paths are not in the digest.
    """

    name: Literal["files"] = "files"
    path: Annotated[str, BeforeValidator(_text)]
    #: Images are cropped to their largest centred square and resized to this many pixels a side.
    size: Count | None = None
    grey: bool = False
    #: A csv file with a row for each image of the folder: its file name and its factors.
    factors: Annotated[str | None, BeforeValidator(_text)] = None
    sha256: str | None = None
    n: Count | None = None
    event: Annotated[tuple[Count, ...], Strict(False)] | None = None

    @model_serializer(mode="wrap")
    def _without_no_factors(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = plain(self)
        if self.factors is None:  # so that runs from before them keep their digest
            content.pop("factors", None)
        return content

    @property
    def shape(self) -> tuple[int, ...]:
        assert self.event is not None, "complete the spec first"
        return self.event


class PerturbedSpec(_Spec):
    """A file that `vaescope perturb` wrote, known by its content; the path is not in the digest."""

    name: Literal["perturbed"] = "perturbed"
    path: Annotated[str, BeforeValidator(_text)]
    sha256: str | None = None
    n: Count | None = None
    event: Annotated[tuple[Count, ...], Strict(False)] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        assert self.event is not None, "complete the spec first"
        return self.event


class LaplacePairsSpec(_Spec):
    """Each row beside one whose factors moved a little, as in SlowVAE."""

    name: Literal["laplace"] = "laplace"
    rate: Positive = 1.0
    #: Factors that never move; by default those whose values are words.
    categorical: Annotated[tuple[str, ...], Strict(False)] | None = None


class SharedPairsSpec(_Spec):
    """Each row beside one that shares a factor, drawn anew for each pair."""

    name: Literal["shared"] = "shared"
    #: Factors that may be the one; none named means all.
    factors: Annotated[tuple[str, ...], Strict(False)] = ()


PairsSpec = Annotated[LaplacePairsSpec | SharedPairsSpec, Field(discriminator="name")]

DataSpec = Annotated[
    DspritesSpec
    | DspritesVariantSpec
    | DspritesOfficialSpec
    | Shapes3DRenderedSpec
    | ColourImagesSpec
    | SpritesSpec
    | Cars3DSpec
    | SmallnorbSpec
    | CelebaSpec
    | MnistSpec
    | GreyImagesSpec
    | PinwheelSpec
    | IcaSegmentsSpec
    | SynthLinearSpec
    | SynthNonlinearSpec
    | LinearGaussianSpec
    | ArraySpec
    | FilesSpec
    | PerturbedSpec,
    Field(discriminator="name"),
]
