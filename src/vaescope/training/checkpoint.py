"""The state of training as one safetensors file: nothing in it can be executed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from vaescope.errors import RunError
from vaescope.paths import replace_file
from vaescope.reading import read_regular
from vaescope.sealing import PLACE, checkpoint_facts, seal_checkpoint, sha256_of
from vaescope.specs import FORMAT
from vaescope.training.loop import State

__all__ = [
    "ending_of_state",
    "load_state",
    "load_weights",
    "measured_best",
    "save_state",
    "weights_bytes",
]


def _plain(tensor: Tensor) -> Tensor:
    # A copy of its own: fused optimisers share storage, which safetensors refuses.
    return tensor.detach().cpu().clone(memory_format=torch.contiguous_format)


def _pack(tensors: dict[str, Tensor], **facts: Any) -> bytes:
    # One key: the library writes several in random order, and equal runs must give equal bytes.
    return save_tensors(
        {name: _plain(tensor) for name, tensor in tensors.items()},
        {"vaescope": json.dumps({"format": FORMAT, **facts}, sort_keys=True)},
    )


def weights_bytes(module: nn.Module) -> bytes:
    """The parameters of a module as a safetensors file."""
    return _pack(module.state_dict())


def load_weights(path: Path, module: nn.Module, *, sha256: str | None) -> None:
    """Copies weights into a module that they fit; their file must have that digest, if any."""
    remedy = "Delete it, then run the `vaescope train` command again: the last checkpoint is kept."
    content = _read(path, remedy)
    tensors, _ = _unpack(path, content, remedy)
    _require_fit(path, module, tensors)
    if sha256 is not None and sha256_of(content) != sha256:
        raise RunError(f"{path} has changed since the run ended.", remedy)
    module.load_state_dict(tensors)


def _require_fit(path: Path, module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    wanted = {name: tensor.shape for name, tensor in module.state_dict().items()}
    if {name: tensor.shape for name, tensor in tensors.items()} != wanted:
        raise RunError(
            f"{path} holds {len(tensors)} tensors that do not fit the {len(wanted)} of the "
            "model in spec.yaml.",
            "Restore the two files from one run, or train again in another folder.",
        )


def _read(path: Path, remedy: str) -> bytes:
    try:
        return read_regular(path)
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read: {error}.", remedy) from error


def _unpack(path: Path, content: bytes, remedy: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        tensors = load_tensors(content)
        facts = checkpoint_facts(content)
    except SafetensorError as error:
        raise RunError(
            f"{path} is not a file that vaescope wrote, or it is damaged ({error}).", remedy
        ) from error
    except ValueError as error:
        raise RunError(f"{path} is damaged: {error}.", remedy) from error
    if facts["format"] > FORMAT:
        raise RunError(
            f"{path} has format {facts['format']}; this vaescope reads up to {FORMAT}.",
            "Install a newer vaescope.",
        )
    return tensors, facts


def save_state(path: Path, state: State, digest: str, *, history: str | None = None) -> None:
    """Weights, optimiser moments and the open window, replaced as one file. `history` is the seal
    of the rows that were written so far."""
    tensors: dict[str, Tensor] = {}
    for group, module in state.groups.items():
        for name, tensor in module.state_dict().items():
            tensors[f"weights/{group}/{name}"] = tensor
        moments = state.optimisers[group].state
        for name, parameter in module.named_parameters():
            for key, value in moments[parameter].items():
                tensors[f"optimiser/{group}/{name}/{key}"] = value
    for part, values in (("window", state.window), ("validation", state.validation)):
        tensors |= {f"{part}/{name}": value for name, value in values.items()}
    facts = {"step": state.step, "digest": digest, "history": history, "seal": PLACE}
    replace_file(path, seal_checkpoint(_pack(tensors, **facts)))


def load_state(path: Path, state: State, digest: str) -> str | None:
    """Brings a fresh state to where `path` was saved. Returns the seal of its history, if any."""
    remedy = "Delete it to start this run again from the beginning."
    content = _read(path, remedy)
    tensors, facts = _unpack(path, content, remedy)
    if not {"digest", "step"} <= facts.keys():
        raise RunError(f"{path} holds no state of training.", remedy)
    if facts["digest"] != digest:
        raise RunError(
            f"{path} belongs to another experiment ({str(facts['digest'])[:8]}, not {digest[:8]}).",
            "Restore the folder's own files, or choose another --out.",
        )
    for group, module in state.groups.items():
        own = _without(f"weights/{group}/", tensors)
        _require_fit(path, module, own)
        module.load_state_dict(own)
        for name, parameter in module.named_parameters():
            for kind, value in _without(f"optimiser/{group}/{name}/", tensors).items():
                state.optimisers[group].state[parameter][kind] = _like(value, parameter)
    state.window = {k: v.to(state.device) for k, v in _without("window/", tensors).items()}
    state.validation = _without("validation/", tensors)
    state.step = facts["step"]
    return facts.get("history")


def ending_of_state(path: Path) -> tuple[bytes, dict[str, Any]]:
    """The weights with which a run ends whose last state this is, as their file, and what is said
    of its end: those of the best validation, where there was one, else those of the model."""
    remedy = "Delete it to start this run again from the beginning."
    tensors, facts = _unpack(path, _read(path, remedy), remedy)
    known = _without("validation/", tensors)
    best = _without("weights.", known)
    ending = {"steps": facts["step"], **measured_best(known)}
    return _pack(best or _without("weights/vae/", tensors)), ending


def _without(start: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Those whose names begin so, by the rest of their names."""
    return {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}


def measured_best(known: Mapping[str, Tensor]) -> dict[str, Any]:
    """What a run's end says of its validation."""
    if not known:
        return {}
    return {"best_step": int(known["step"]), "validation_elbo": float(known["elbo"])}


def _like(value: Tensor, parameter: Tensor) -> Tensor:
    """In the parameter's memory layout: fused kernels walk both as flat memory."""
    if value.shape != parameter.shape:
        return value.clone()  # the count of steps
    return torch.empty_like(parameter, dtype=value.dtype).copy_(value).detach()
