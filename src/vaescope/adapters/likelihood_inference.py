"""What a model shows of its likelihood: how its decoder ends, what it is called, what it loses."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from vaescope.adapters.draws import leaves
from vaescope.adapters.sources import Source

__all__ = ["ending", "shown_loss"]

#: Nodes of autograd that only move values.
_MOVES = re.compile(r"View|Reshape|Squeeze|Permute|Transpose|Clone|Expand|Copy|Slice|Select|Clamp")
#: Names under which classes keep which loss they have, and the words for it.
_SETTINGS = re.compile(r"recon\w*_?loss|rec_loss|loss_type|likelihood|recon_type|criterion|loss_fn")
_WORDS = {
    "mse": "squared-error", "l2": "squared-error", "gaussian": "squared-error",
    "normal": "squared-error", "squared": "squared-error",
    "bce": "bernoulli", "bernoulli": "bernoulli", "binary": "bernoulli",
    "l1": "laplace", "laplace": "laplace", "mae": "laplace",
}  # fmt: skip
_LAYERS: Mapping[type[nn.Module], str] = {
    nn.MSELoss: "squared-error", nn.BCELoss: "bernoulli", nn.BCEWithLogitsLoss: "bernoulli",
    nn.L1Loss: "laplace",
}  # fmt: skip
_LOSSES = re.compile(r"loss|elbo|criterion|objective", re.IGNORECASE)
#: What arguments of a loss are called.
_ROLES = {
    "x": re.compile(r"^(x|x_?true|inputs?|images?|imgs?|target|data|batch|original|real|x_?in)$"),
    "recon": re.compile(r"rec|hat|pred|output|decoded|prob|logit|^y$|^x_?out$|gener"),
    "spread": re.compile(r"var|sigma|std|scale|log_?s"),
    "mean": re.compile(r"mu|mean|loc"),
    "z": re.compile(r"^z$|latent|sample"),
}
#: Share of the variance of a loss that the right distortion leaves.
_UNEXPLAINED = 1e-4


def ending(decode: Callable[[Tensor], Tensor], z: Tensor) -> str:
    """The function that a decoder ends in: "sigmoid", "tanh", or "" where it is another one."""
    try:
        with torch.enable_grad():
            node = decode(z[:2].detach().requires_grad_()).grad_fn
    except Exception:  # anybody's code
        return ""
    while node is not None and _MOVES.search(node.name()):
        node = node.next_functions[0][0] if node.next_functions else None
    name = "" if node is None else node.name()
    return "sigmoid" if "Sigmoid" in name else "tanh" if "Tanh" in name else ""


def shown_loss(
    source: Source, x: Tensor, outputs: Sequence[Tensor], mean: Tensor, spread: Tensor | None
) -> tuple[str, str] | None:
    """The distortion that the model's own loss has, and where it is shown: "bernoulli", "logits"
    (of which a Bernoulli), "squared-error" or "laplace".

    `outputs` are several that a decoder gave, in its own shape, for the images `x` as they go in.
    The loss is called with each in turn: what changes with them is the distortion, times a number.
    """
    for name, loss in _losses(source):
        for arguments in _arguments(loss, x, mean, spread):
            family = _explained(loss, arguments, x, outputs)
            if family is not None:
                return family, f"its {name} has this distortion"
    return _settings(source)


def _losses(source: Source) -> Iterator[tuple[str, Callable[..., Any]]]:
    model = source.model
    if model is None:
        return
    for name in dir(type(model)):
        if _LOSSES.search(name) and not name.startswith("__"):
            method = getattr(model, name, None)
            if callable(method) and not isinstance(method, nn.Module | type):
                yield name, method
    home = sys.modules.get(type(model).__module__)
    for name, function in vars(home).items() if home is not None else ():
        own = inspect.isfunction(function) and function.__module__ == type(model).__module__
        if own and _LOSSES.search(name):
            yield name, function


def _arguments(
    loss: Callable[..., Any], x: Tensor, mean: Tensor, spread: Tensor | None
) -> Iterator[Callable[[Tensor], Any]]:
    """Ways to call a loss with a reconstruction."""
    spread = torch.zeros_like(mean) if spread is None else spread
    try:
        known = list(inspect.signature(loss).parameters.values())
    except (TypeError, ValueError):
        return
    values = {"x": x, "mean": mean, "spread": spread, "z": mean}
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in known):
        yield lambda y: loss(y, x, mean, spread, M_N=1.0)
        yield lambda y: loss(y, x, mean, spread)
        return
    roles = [_role(one.name) for one in known if one.default is inspect.Parameter.empty
             and one.kind is not inspect.Parameter.VAR_KEYWORD]  # fmt: skip
    if "recon" in roles and "x" in roles and None not in roles:
        yield lambda y: loss(*(y if role == "recon" else values[str(role)] for role in roles))


def _role(name: str) -> str | None:
    return next((role for role, names in _ROLES.items() if names.search(name.lower())), None)


def _explained(
    loss: Callable[..., Any], call: Callable[[Tensor], Any], x: Tensor, outputs: Sequence[Tensor]
) -> str | None:
    """The distortion with which the loss changes."""
    del loss
    try:
        losses = torch.stack([_total(call(y)) for y in outputs])
    except Exception:  # anybody's code
        return None
    best: dict[str, float] = {}
    for family, distortion in _DISTORTIONS.items():
        each = torch.stack([distortion(y, x.reshape(y.shape)).double() for y in outputs])
        if torch.isfinite(each).all() and float(each.std()) > 0 and float(losses.std()) > 0:
            both = torch.stack([losses, each])
            best[family] = 1.0 - float(torch.corrcoef(both)[0, 1])
    family = min(best, key=best.__getitem__, default=None)
    return family if family is not None and best[family] < _UNEXPLAINED else None


def _total(returned: Any) -> Tensor:
    """The loss itself, which comes first or is named so; one for each example is summed."""
    if isinstance(returned, Mapping) and "loss" in returned:
        returned = returned["loss"]
    value = next(value for _, value in leaves(returned))
    return value.detach().double().sum()


_DISTORTIONS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "squared-error": lambda y, x: (y - x).square().sum(),
    "laplace": lambda y, x: (y - x).abs().sum(),
    "bernoulli": lambda y, x: (
        functional.binary_cross_entropy(y.clamp(0, 1), x, reduction="sum")
        if _inside(y) and _inside(x)
        else torch.tensor(torch.nan)
    ),
    "logits": lambda y, x: functional.binary_cross_entropy_with_logits(y, x, reduction="sum"),
}


def _inside(values: Tensor) -> bool:
    return float(values.min()) >= 0 and float(values.max()) <= 1


def _settings(source: Source) -> tuple[str, str] | None:
    """What a configuration or an attribute calls the loss."""
    model = source.model
    owners = [("", model)] + [
        (f"{name}.", getattr(model, name, None)) for name in ("config", "model_config", "hparams")
    ]
    for prefix, owner in owners:
        held = owner if isinstance(owner, Mapping) else getattr(owner, "__dict__", {})
        parts = {**held, **(owner._modules if isinstance(owner, nn.Module) else {})}
        for name, value in parts.items():
            if not isinstance(name, str) or not _SETTINGS.search(name.lower()):
                continue
            word = str(value).lower() if isinstance(value, str) else ""
            family = next((f for key, f in _WORDS.items() if key in word), None)
            family = family or _LAYERS.get(type(value))
            if family is not None:
                return family, f"its {prefix}{name} is {word or type(value).__name__}"
    return None
