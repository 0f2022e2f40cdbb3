"""Settings of parts that the user wrote: an import path with its settings, or an object."""

from typing import Annotated, Any, Literal, TypeGuard, TypeVar

from pydantic import ConfigDict, Discriminator, PrivateAttr, Strict, Tag

from vaescope.model_specs import Group

__all__ = ["GROUPS", "ImportedSpec", "ObjectSpec", "OwnSpec", "Part", "is_own", "is_path"]

#: Groups of settings whose part may be the user's own.
GROUPS = ("objective", "net", "posterior", "prior", "likelihood")


class ImportedSpec(Group):
    """A class or function by import path, `package.module:Name`. Its other keys are its settings;
    `sha256` is that of the source file."""

    model_config = ConfigDict(extra="allow")

    name: str
    sha256: str

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.__pydantic_extra__ or {})


class ObjectSpec(Group):
    """An object that a run folder does not keep: what it was, and how to know it again."""

    name: Literal["object"] = "object"
    says: str  # its class, for people
    given: Annotated[tuple[str, ...], Strict(False)]  # keywords of vs.train and vs.open_run
    sha256: str  # of its structure and source
    start: str | None = None  # sha256 of the weights that it came with

    _value: Any = PrivateAttr(default=None)

    @property
    def value(self) -> Any:
        return self._value

    def holding(self, value: Any) -> "ObjectSpec":
        """The same settings with the object at hand."""
        held = self.model_copy()
        held._value = value
        return held


OwnSpec = ImportedSpec | ObjectSpec


def is_path(name: Any) -> bool:
    """Whether a name is an import path.

    >>> is_path("mylab.losses:Weighted"), is_path("beta-vae")
    (True, False)
    """
    return isinstance(name, str) and ":" in name


def is_own(part: Any) -> TypeGuard[OwnSpec]:
    """Whether a group of settings names the user's own part."""
    return isinstance(part, OwnSpec)


def _kind(value: Any) -> str:
    name = value.get("name") if isinstance(value, dict) else getattr(value, "name", None)
    if is_path(name):
        return "imported"
    return "object" if name == "object" else "named"


Named = TypeVar("Named")

#: One of the named specs, an import path, or an object.
Part = Annotated[
    Annotated[Named, Tag("named")]
    | Annotated[ImportedSpec, Tag("imported")]
    | Annotated[ObjectSpec, Tag("object")],
    Discriminator(_kind),
]
