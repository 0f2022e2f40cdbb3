"""Weights of somebody else's model, put into a module that their own code makes. Nothing that is in
a checkpoint runs: it is read with `weights_only`, or as safetensors."""

import importlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from vaescope.errors import DataError, UsageError

__all__ = ["load_checkpoint", "made_by", "weights_of"]

#: Where training scripts keep the weights in a checkpoint.
_KEYS = ("state_dict", "model_state_dict", "model")
_PARALLEL = "module."
#: How many names an error lists.
_LISTED = 5
#: Groups within groups that are looked into: a checkpoint may contain itself.
_DEEPEST = 8
_SAVE = "torch.save(model.state_dict(), path)"


def load_checkpoint(path: str | Path, factory: str) -> nn.Module:
    """The module that `factory`, e.g. "mymodels:make_vae", makes, with the weights at `path`.

    The factory is imported from the current directory or the environment and called without
    arguments; it is the only code that runs.
    """
    weights = weights_of(Path(path))
    module = made_by(factory)
    weights = _unwrapped(module.state_dict(), weights)
    _check(module.state_dict(), weights, str(path), factory)
    module.load_state_dict(weights)
    return module.eval()


def made_by(factory: str) -> nn.Module:
    """What `module:factory` returns."""
    where, colon, name = factory.partition(":")
    if not (where and colon and name) or where.endswith(".py") or "/" in where or where[0] == ".":
        raise UsageError(
            f"The model is {factory!r}; wanted module:factory, with the module named as in "
            "`import module`.",
            "E.g. mymodels:make_vae for the function make_vae() in mymodels.py.",
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(where)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"Importing {where} did not find {error.name!r} in {here} or the environment.",
            f"Run in the directory of {where.partition('.')[0]}.py, or install what it imports.",
        ) from error
    except (Exception, SystemExit) as error:  # anybody's code; scripts may end at once
        raise UsageError(
            f"Importing {where} failed with {_named(error)}.",
            "Correct the module; code that runs only as a script belongs under "
            "`if __name__ == '__main__':`.",
        ) from error
    make = getattr(module, name, None)
    if not callable(make):
        known = ", ".join(n for n, v in vars(module).items() if callable(v) and n[0] != "_")
        raise UsageError(
            f"{where} has no function {name}; it has {known or 'none'}.",
            "Name a function or class that makes the model without arguments.",
        )
    try:
        made = make()
    except TypeError as error:
        raise UsageError(
            f"{factory}() failed: {error}.",
            "It is called without arguments: write a function that passes them, e.g. "
            f"def make(): return {name}(...).",
        ) from error
    except (Exception, SystemExit) as error:
        raise UsageError(f"{factory}() failed with {_named(error)}.", "Repair it.") from error
    if not isinstance(made, nn.Module):
        raise UsageError(
            f"{factory}() returned {type(made).__name__}; wanted a torch.nn.Module.",
            "Return the model.",
        )
    return made


def weights_of(path: Path) -> dict[str, Tensor]:
    """The state dict in a file of torch or safetensors."""
    if not path.is_file():
        raise DataError(f"{path} is not a file.", "Give a checkpoint: .pt, .pth or .safetensors.")
    content = _safetensors(path) if path.suffix == ".safetensors" else _torch(path)
    found = content
    for _ in range(_DEEPEST):
        if not isinstance(found, Mapping) or _is_state(found):
            break
        inner = next((key for key in _KEYS if key in found), None)
        if inner is None:
            break
        found = found[inner]
    if not _is_state(found):
        has = ", ".join(map(str, content)) if isinstance(content, Mapping) else type(content)
        raise DataError(
            f"{path} has no weights; it has {has}, and weights were looked for at the top and "
            f"under {', '.join(_KEYS)}.",
            f"Save them with {_SAVE}.",
        )
    weights = dict(found)
    for name, value in weights.items():
        if value.layout != torch.strided or value.is_quantized or value.is_meta:
            kind = "quantised" if value.is_quantized else "meta" if value.is_meta else "sparse"
            raise DataError(
                f"{name} in {path} is a {kind} tensor; wanted plain numbers.",
                "Save the weights as dense tensors of floats.",
            )
    while all(name.startswith(_PARALLEL) for name in weights):  # saved from DataParallel
        weights = {name.removeprefix(_PARALLEL): value for name, value in weights.items()}
    return weights


def _is_state(content: Any) -> bool:
    return (
        isinstance(content, Mapping)
        and len(content) > 0
        and all(isinstance(k, str) and isinstance(v, Tensor) for k, v in content.items())
    )


def _torch(path: Path) -> Any:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except UnpicklingError as error:
        # Not torch's own words, which tell how to run it all the same.
        asked = re.search(r"GLOBAL (\S+)", str(error))
        raise DataError(
            f"{path} holds more than weights: reading it would run code, so it was not "
            f"read{f' (it asks for {asked[1]})' if asked else ''}.",
            f"If you trust the file, load it yourself and write only the weights with {_SAVE}.",
        ) from error
    except Exception as error:  # of a damaged file torch's reader raises whatever it stumbles over
        raise DataError(
            f"{path} cannot be read as a checkpoint of torch: {_named(error)}.",
            f"Get the file again, or save it with {_SAVE}.",
        ) from error


def _safetensors(path: Path) -> Mapping[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise DataError(
            f"{path} cannot be read as safetensors: {error}.", "Get the file again."
        ) from error


def _named(error: BaseException) -> str:
    """An error in one sentence."""
    first = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
    return f"{type(error).__name__}: {first[:200]}"


def _unwrapped(wanted: Mapping[str, Tensor], got: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights without what torch.compile (`_orig_mod.`) or Lightning (`model.`) put before
    their names, where those that have it are just the model's."""
    first = next(iter(wanted), "")
    for prefix in [name.removesuffix(first) for name in got if name.endswith(f".{first}")]:
        inner = {n.removeprefix(prefix): v for n, v in got.items() if n.startswith(prefix)}
        if inner.keys() == wanted.keys():
            return inner
    return got


def _check(
    wanted: Mapping[str, Tensor], got: Mapping[str, Tensor], path: str, factory: str
) -> None:
    missing = [name for name in wanted if name not in got]
    unexpected = [name for name in got if name not in wanted]
    other = [
        f"{name} {tuple(got[name].shape)} instead of {tuple(value.shape)}"
        for name, value in wanted.items()
        if name in got and got[name].shape != value.shape
    ]
    parts = {"lacks": missing, "also has": unexpected, "has other shapes:": other}
    wrong = [f"{says} {_some(names)}" for says, names in parts.items() if names]
    if wrong:
        raise DataError(
            f"{path} does not fit the model of {factory}: the file {'; it '.join(wrong)}.",
            "Build the model as it was when it was saved: with the same class, sizes and number "
            "of latents.",
        )


def _some(names: list[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
