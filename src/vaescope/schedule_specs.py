"""Settings that may change over the steps: a number, or a schedule told by its `name`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag

from vaescope.model_specs import Count, Group, NonNegative

__all__ = ["CosineSpec", "LinearSpec", "Value"]


class LinearSpec(Group):
    """From start to stop over the first steps."""

    name: Literal["linear"] = "linear"
    start: NonNegative
    stop: NonNegative
    steps: Count


class CosineSpec(Group):
    """From start to stop along half a cosine."""

    name: Literal["cosine"] = "cosine"
    start: NonNegative
    stop: NonNegative
    steps: Count


def _kind_of_value(value: Any) -> str:
    name = value.get("name") if isinstance(value, Mapping) else getattr(value, "name", "number")
    return str(name)


#: A number, or a schedule over the steps.
Value = Annotated[
    Annotated[NonNegative, Tag("number")]
    | Annotated[LinearSpec, Tag("linear")]
    | Annotated[CosineSpec, Tag("cosine")],
    Discriminator(_kind_of_value),
]
