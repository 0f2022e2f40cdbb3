"""Classes of public repositories, imported without the packages that they do not need and without
what their files do when they are run."""

import ast
import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import scipy.misc
import scipy.special
from torch import nn

__all__ = ["as_they_knew_them", "load"]

#: Packages that the files import and their models do not need.
UNNEEDED = (
    "torchvision", "visdom", "cv2", "umap", "pandas", "seaborn", "wandb", "brewer2mpl",
    "pytorch_lightning", "lightning_utilities", "torchmetrics", "torch_ort",
)  # fmt: skip


class _Stub(ModuleType):
    """A package that is not there: classes without content, functions that do nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (_Empty,), {}) if name[0].isupper() else MagicMock()


class _Empty(nn.Module):
    """As much of Lightning's module as a model needs to be made."""

    def save_hyperparameters(self, *_: Any, **__: Any) -> None: ...


class _Stubs(MetaPathFinder, Loader):
    """Finds a stub for each of UNNEEDED and for all below it."""

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        stubbed = name.split(".", maxsplit=1)[0] in UNNEEDED
        return ModuleSpec(name, self, is_package=True) if stubbed else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Stub(spec.name)

    def exec_module(self, module: ModuleType) -> None: ...


def as_they_knew_them() -> None:
    """Stubs of packages, and names that numpy and scipy have given up since."""
    sys.meta_path.append(_Stubs())
    np.product = np.prod  # type: ignore[attr-defined]
    scipy.misc.logsumexp = scipy.special.logsumexp


def load(repository: Path, file: str) -> ModuleType:
    """The file's imports, constants, functions and classes: not what it does when it is run."""
    for name in [name for name, held in sys.modules.items() if _foreign(held, repository.parent)]:
        del sys.modules[name]
    path = repository / file
    folders = [str(repository), str(repository / "src"), str(path.parent)]
    sys.path[:0] = folders
    try:
        if (path.parent / "__init__.py").exists():
            package = Path(file).with_suffix("").parts
            package = package[1:] if package[0] == "src" else package
            return importlib.import_module(".".join(package))
        # A word of Python since 3.7, an argument of torch before.
        tree = ast.parse(path.read_text().replace("async=True", "non_blocking=True"))
        kept = [node for node in tree.body if _kept(node)]
        module = ModuleType(path.stem)
        code = compile(ast.Module(kept, []), str(path), "exec")
        exec(code, module.__dict__)  # noqa: S102 - what whoever runs this has brought to disk
        return module
    finally:
        del sys.path[: len(folders)]


def _foreign(module: Any, root: Path) -> bool:
    return str(getattr(module, "__file__", None) or "").startswith(str(root))


def _kept(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        return False
    if isinstance(node, ast.Assign):
        constant = isinstance(node.value, ast.Constant | ast.Tuple)
        return constant and isinstance(node.targets[0], ast.Name)
    return isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef)
