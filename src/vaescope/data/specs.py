"""Settings of each dataset: what `data.name=... data.key=value` may say."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict

__all__ = ["ArraySpec", "DataSpec", "DspritesSpec", "LinearGaussianSpec", "SynthLinearSpec"]


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Seed = Annotated[int, BeforeValidator(_whole), Strict(), Field(ge=0)]
Count = Annotated[int, BeforeValidator(_whole), Strict(), Field(ge=1)]
Positive = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
Grid = dict[str, list[Annotated[int, BeforeValidator(_whole)]]]


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DspritesSpec(_Spec):
    name: Literal["dsprites"] = "dsprites"
    size: Literal[32, 64] = 64
    grid: Grid = {}

    @property
    def shape(self) -> tuple[int, ...]:
        return (1, self.size, self.size)


class SynthLinearSpec(_Spec):
    name: Literal["synth-linear"] = "synth-linear"
    n: Count = 50_000
    ratio: Positive = 2.0
    generator_seed: Seed = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return (3,)


class SynthNonlinearSpec(_Spec):
    name: Literal["synth-nonlinear"] = "synth-nonlinear"
    n: Count = 50_000
    generator_seed: Seed = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return (6,)


class LinearGaussianSpec(_Spec):
    name: Literal["linear-gaussian"] = "linear-gaussian"
    eigenvalues: Annotated[tuple[Positive, ...], Strict(False)] = (4.0, 2.0, 1.0, 0.5)
    dimension: Count = 8
    noise: Annotated[float, Strict(), Field(ge=0)] = 0.0
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


DataSpec = Annotated[
    DspritesSpec | SynthLinearSpec | SynthNonlinearSpec | LinearGaussianSpec | ArraySpec,
    Field(discriminator="name"),
]
