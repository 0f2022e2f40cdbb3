"""From the settings of the user's own parts to objects, each checked to be what it stands for."""

import copy
import inspect
from typing import Any

import torch
from pydantic import ValidationError
from torch import nn
from torch.nn.parameter import is_lazy

from vaescope.errors import RunError, ShapeError, UsageError, VaescopeError
from vaescope.nets import Pair
from vaescope.nets.likelihoods import Likelihood
from vaescope.objectives import Objective
from vaescope.own_parts.function_objective import STEP, FunctionObjective, is_objective_function
from vaescope.own_parts.paths import find, load
from vaescope.own_parts.signature import GIVEN, arguments, given_to, settings_model
from vaescope.own_parts.specs import GROUPS, ImportedSpec, ObjectSpec, OwnSpec
from vaescope.specs import Experiment
from vaescope.vae import VAE, Prior

__all__ = [
    "KINDS",
    "as_pair",
    "check_model",
    "check_module",
    "maker_of",
    "own_part",
    "require_objects",
]

#: What the part of each group must be.
KINDS: dict[str, tuple[type, ...]] = {
    "objective": (Objective,),
    "net": (Pair, tuple, VAE),
    "posterior": (nn.Module,),
    "prior": (Prior,),
    "likelihood": (Likelihood,),
}
_WANTED = {
    "objective": "a vs.Objective, or a function of vae, batch, step and noise",
    "net": "a vs.nets.Pair, or an encoder and a decoder",
    "posterior": "a module from features to a distribution",
    "prior": "a vs.priors prior, a subclass of vaescope.vae.Prior",
    "likelihood": "a subclass of vaescope.nets.likelihoods.Likelihood",
}


def maker_of(group: str, path: str, sha256: str | None = None) -> tuple[Any, str]:
    """The class or function of an import path, and the sha256 of its source. It is imported only
    if that is `sha256`, where one is given.

    Raises:
        UsageError: it is neither a class of the right kind nor a function of what vaescope gives.
    """
    source = find(path)
    maker = load(source, sha256)
    right = (
        issubclass(maker, KINDS[group])
        if isinstance(maker, type)
        # Not any function of any package, which settings could make do anything.
        else callable(maker)
        and (
            "latent" in given_to(maker, path)
            or (group == "objective" and is_objective_function(maker))
        )
    )
    if not right:
        raise UsageError(
            f"{group}.name={path} is {type(maker).__name__} {getattr(maker, '__name__', '')}, "
            f"wanted {_WANTED[group]}.",
            "Give a class of that kind, or a function that makes one and has a parameter latent "
            f"(vaescope passes {', '.join(GIVEN)}; its other parameters are settings).",
        )
    return maker, source.sha256


def own_part(part: OwnSpec, group: str, **given: Any) -> Any:
    """The object that a group of settings stands for, fresh at each call.

    Args:
        part: settings of the group.
        group: its name.
        given: values for those of `GIVEN` that it may ask for.

    Raises:
        RunError: the source has changed, or the object was not passed.
        UsageError: its settings do not fit, or it is of another kind.
    """
    if isinstance(part, ObjectSpec):
        value = part.value
        asked = _asked(value, part.says, given) if _is_function(value) else {}
        made = _made(value, asked, part.says) if _is_function(value) else value
    else:
        maker, _ = maker_of(group, part.name, part.sha256)
        settings = {**_arguments(part, maker), **_asked(maker, part.name, given)}
        made = _made(maker, settings, part.name)
    if not isinstance(made, KINDS[group]):
        raise UsageError(
            f"{group}.name={part.name} made {type(made).__name__}, wanted {_WANTED[group]}.",
            "Return one of these.",
        )
    # A copy: training must not change what the caller holds.
    return copy.deepcopy(made) if isinstance(part, ObjectSpec) else made


def _made(maker: Any, settings: dict[str, Any], path: str) -> Any:
    """A function that is an objective itself is kept; others make one."""
    if is_objective_function(maker):
        return FunctionObjective(maker, settings)
    try:
        inspect.signature(maker).bind(**settings)
    except TypeError as error:
        raise UsageError(
            f"{path} cannot be called to build the part: {error}.",
            f"vaescope gives {', '.join(GIVEN)} by these names; other parameters need a default. "
            f"A function that is itself an objective takes first {', '.join(STEP)}.",
        ) from error
    return maker(**settings)


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, nn.Module | Objective)


def require_objects(spec: Experiment) -> None:
    """Refuses to build a model whose objects are not at hand, and says which they are."""
    parts = [getattr(spec, group) for group in GROUPS]
    lacking = [part for part in parts if isinstance(part, ObjectSpec) and part.value is None]
    if not lacking:
        return
    keywords = dict.fromkeys(keyword for part in lacking for keyword in part.given)
    asked = ", ".join(f"{keyword}=..." for keyword in keywords)
    says = ", ".join(dict.fromkeys(part.says for part in lacking))
    raise RunError(
        f"This run was trained with objects of Python ({says}), which a run folder does not "
        "contain.",
        f"Open it with vs.open_run(path, {asked}), given the same code, and use the result in "
        "place of the path. Parts named by an import path, e.g. mylab:Weighted, are found "
        "without this.",
    )


def _asked(maker: Any, path: str, given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in given_to(maker, path) if name in given}


def _arguments(part: ImportedSpec, maker: Any) -> dict[str, Any]:
    model = settings_model(maker, part.name)
    try:
        return arguments(maker, model.model_validate(part.settings))
    except ValidationError as error:
        raise RunError(
            f"The settings of {part.name} in the spec are not valid for it: "
            f"{error.errors()[0]['msg']}.",
            "Restore the spec, or train again elsewhere.",
        ) from error


def as_pair(net: Any) -> Pair:
    """An encoder and a decoder as a pair. Its encoder makes no features: it gives the posterior's
    parameters itself."""
    for module in (net.encoder, net.decoder) if isinstance(net, Pair) else net:
        check_module(module)
    return net if isinstance(net, Pair) else Pair(net[0], 0, net[1])


def check_module(module: Any) -> None:
    """Refuses what is not a module, and lazy ones: they have no weights yet that could be drawn
    from a seed or saved."""
    if not isinstance(module, nn.Module):
        raise UsageError(
            f"An encoder or decoder is {type(module).__name__}, wanted an nn.Module.",
            "Give a module, e.g. nn.Sequential(...).",
        )
    if any(is_lazy(parameter) for parameter in module.parameters()):
        raise UsageError(
            f"{type(module).__name__} has lazy layers, whose sizes are not known yet.",
            "Give the sizes (nn.Linear in place of nn.LazyLinear), or call it once on a batch.",
        )


def check_model(vae: VAE, shape: tuple[int, ...], latent: int, name: str) -> None:
    """Refuses networks that do not fit the data or the number of latents.

    Raises:
        UsageError: they fail on a batch of zeros.
        ShapeError: what they give has another shape.
    """
    probe = copy.deepcopy(vae).eval()
    try:
        with torch.no_grad():
            q = probe.encoder(torch.zeros(2, *shape))
            sizes = {"means": q.mean.shape, "variances": q.variance.expand_as(q.mean).shape}
            x = probe.decoder(torch.zeros(2, latent)).mean.shape
            probe.prior().at(torch.zeros(2, latent))
    except VaescopeError:
        raise
    except Exception as error:  # anybody's code
        lines = str(error).splitlines()
        raise UsageError(
            f"{name} fails on a batch of zeros of shape {(2, *shape)} with {latent} latents: "
            f"{type(error).__name__}: {lines[0][:160] if lines else ''}.",
            "Correct it, or give the settings that it was written for (latent, posterior, "
            "likelihood).",
        ) from error
    for what, size in sizes.items():
        if size != (2, latent):
            raise ShapeError(
                f"The encoder of {name} gives posterior {what} of shape {tuple(size)}; wanted "
                f"(2, {latent}).",
                "An encoder returns the parameters of posterior.name: a diagonal one has mean "
                "and log-variance, 2 * latent values. Set latent=... accordingly.",
            )
    if x != (2, *shape):
        raise ShapeError(
            f"The decoder of {name} gives means of shape {tuple(x)}; wanted {(2, *shape)}.",
            f"End it with nn.Unflatten(1, {shape}); for local-gaussian twice as long.",
        )
