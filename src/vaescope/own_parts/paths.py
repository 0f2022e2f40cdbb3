"""From an import path to the user's code: found without running it, hashed, then run.

The bytes that are run are the bytes that were hashed. Modules of packages are found without
importing the packages; these are imported before the module runs, as Python does.
"""

import hashlib
import importlib
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from vaescope.errors import RunError, UsageError

__all__ = ["SourceFile", "find", "load", "search_in"]

_LOG = logging.getLogger("vaescope")

_REMEDY = (
    "Write package.module:Name, e.g. mylab.losses:Weighted, of a module in the current folder or "
    "of an installed package."
)


@dataclass(frozen=True)
class SourceFile:
    """The source file of `module`, as it is now."""

    path: str  # module:Name
    file: Path
    content: bytes
    spec: ModuleSpec

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def search_in(folder: Path) -> None:
    """Lets modules of a folder be imported, after those of installed packages."""
    if not {str(folder), ""} & set(sys.path):
        sys.path.append(str(folder))


def find(path: str) -> SourceFile:
    """The source of an import path. Nothing is imported.

    Raises:
        UsageError: it is no import path, there is no such module, or it has no source file.
    """
    module, _, name = path.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise UsageError(f"{path!r} is not an import path.", _REMEDY)
    search_in(Path.cwd())
    spec = _module_spec(module)
    if spec is None:
        raise UsageError(f"There is no module {module}, which {path} names.", _REMEDY)
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or spec.origin is None or not spec.origin.endswith(".py"):
        raise UsageError(f"{module} is not a Python file of yours or of a package.", _REMEDY)
    file = Path(spec.origin)
    try:
        return SourceFile(path, file, file.read_bytes(), spec)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error}.", _REMEDY) from error


def _module_spec(module: str) -> ModuleSpec | None:
    """As importlib.util.find_spec, which would import the packages around the module."""
    importlib.invalidate_caches()
    places: Sequence[str] | None = None
    spec = None
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
        spec = next((s for f in finders if (s := f.find_spec(name, places)) is not None), None)
        if spec is None:
            return None
        places = spec.submodule_search_locations
        if places is None and end < len(parts):
            return None
    return spec


#: Modules by file and sha256: a module whose file did not change is run once.
_MODULES: dict[tuple[Path, str], ModuleType] = {}


def load(source: SourceFile, sha256: str | None = None) -> Any:
    """What an import path names. The module is run, unless its file is not what `sha256` says.

    Raises:
        RunError: the source has changed.
        UsageError: the module fails when it is run, or has no such name.
    """
    if sha256 not in (None, source.sha256):
        raise RunError(
            f"{source.file} is not the source that {source.path} had when this run began "
            f"(sha256 {source.sha256[:8]}, not {str(sha256)[:8]}). It was not imported.",
            "Restore that version of the file; or train again with the new version, in another "
            "--out or after deleting the run.",
        )
    key = (source.file, source.sha256)
    if key not in _MODULES:
        _LOG.info("importing %s from %s", source.path, source.file)
        _MODULES[key] = _run(source)
    value: Any = _MODULES[key]
    for name in source.path.partition(":")[2].split("."):
        if not hasattr(value, name):
            raise UsageError(f"{source.file} has no {name}, which {source.path} names.", _REMEDY)
        value = getattr(value, name)
    return value


def _run(source: SourceFile) -> ModuleType:
    name = source.spec.name
    parent = name.rpartition(".")[0]
    module = module_from_spec(source.spec)
    before = None
    try:
        if parent:
            importlib.import_module(parent)
        before = sys.modules.get(name)
        if parent.partition(".")[0] == "vaescope":
            return importlib.import_module(name)  # ours, whose classes others know
        sys.modules[name] = module  # where dataclasses look, and modules that import each other
        # The bytes that were hashed: Python's own import would read the file again.
        exec(compile(source.content, source.file, "exec"), module.__dict__)  # noqa: S102
    except Exception as error:  # anybody's code
        sys.modules.pop(name, None)
        lines = str(error).splitlines()
        raise UsageError(
            f"{source.file} fails when it is imported: {type(error).__name__}: "
            f"{lines[0][:160] if lines else ''}.",
            "Correct it; the traceback above this error in Python says where.",
        ) from error
    finally:
        if before is not None:
            sys.modules[name] = before  # the caller's own import stays what it is
    return module
