"""A prior from the text that codes files hold."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from vaescope.errors import DataError
from vaescope.prior_density.density import PriorDensity
from vaescope.prior_density.gaussian import GaussianDensity
from vaescope.prior_density.laplace import LaplaceDensity
from vaescope.prior_density.mixture import MixtureDensity
from vaescope.prior_density.sparse import SparseDensity
from vaescope.prior_density.student_t import StudentTDensity
from vaescope.prior_density.subspaces import SubspacesDensity
from vaescope.reading import parse_json
from vaescope.types import Floats

__all__ = ["FAMILIES", "from_json"]

FAMILIES: Mapping[str, type[PriorDensity]] = {
    family.name: family
    for family in (
        GaussianDensity, StudentTDensity, SparseDensity, MixtureDensity, LaplaceDensity,
        SubspacesDensity,
    )
}  # fmt: skip

_REMEDY = "Write it by PriorDensity.to_json, or leave `prior` out: N(0, I) is then assumed."


def from_json(text: str, arrays: Mapping[str, Floats]) -> PriorDensity:
    """The prior that `to_json` wrote; `arrays` has by name what is null in it."""
    try:
        content = parse_json(text)
    except ValueError as error:
        raise DataError(f"`prior` is not JSON ({error}): {text[:60]!r}.", _REMEDY) from error
    name = str(content.pop("name", "")) if isinstance(content, dict) else ""
    if name not in FAMILIES:
        raise DataError(f"`prior` has the name {name!r}; there are {', '.join(FAMILIES)}.", _REMEDY)
    wanted = [entry.name for entry in fields(FAMILIES[name])]  # type: ignore[arg-type]
    if sorted(content) != sorted(wanted):
        raise DataError(
            f"`prior` of the name {name} has {', '.join(content) or 'no parameters'}; wanted "
            f"{', '.join(wanted)}.",
            _REMEDY,
        )
    values = {key: _value(key, content[key], arrays) for key in wanted}
    for entry in fields(FAMILIES[name]):  # type: ignore[arg-type]
        one = isinstance(values[entry.name], float)
        if one != (entry.type is float):
            raise DataError(
                f"`prior` has {'one number' if one else 'several numbers'} as {entry.name}; wanted "
                f"{'a list of numbers' if one else 'one number'}.",
                _REMEDY,
            )
    return FAMILIES[name](**values)


def _value(key: str, value: Any, arrays: Mapping[str, Floats]) -> Any:
    if value is None:
        if key not in arrays:
            raise DataError(
                f"`prior` says that {key} is in an array of its own, and there is no prior_{key}.",
                f"Save prior_{key} beside it.",
            )
        return arrays[key]
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"`prior` has a {key} that does not consist of numbers: {error}.", _REMEDY
        ) from error
    return array if array.ndim else float(array)
