"""Parts given as values of Python: named by import path where they can be, else by fingerprint."""

import copy
import dataclasses
import functools
import inspect
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from vaescope.distributions import Distribution
from vaescope.errors import RunError, UsageError
from vaescope.objectives import Objective
from vaescope.own_parts.fingerprint import code_of, fingerprint, weights_of
from vaescope.own_parts.making import check_module, maker_of
from vaescope.own_parts.paths import find
from vaescope.own_parts.signature import parameters_of, settings_model
from vaescope.own_parts.specs import GROUPS, ImportedSpec, ObjectSpec
from vaescope.priors import as_prior
from vaescope.scheduling import schedule_settings
from vaescope.specs import Experiment
from vaescope.vae import VAE, NoDecoder
from vaescope.wording import nearest

__all__ = [
    "KEYWORDS",
    "attach",
    "by_group",
    "fingerprint",
    "is_object",
    "refuse_loose",
    "refuse_twice",
    "with_objects",
]

#: Keywords of `vs.train` and `vs.open_run` that may be objects.
KEYWORDS = (*GROUPS, "encoder", "decoder", "vae")


def is_object(value: Any) -> bool:
    """Whether a value stands for itself, not for a setting."""
    if isinstance(value, Mapping):
        return is_object(value.get("name"))
    return value is not None and not isinstance(value, str)


def by_group(given: Mapping[str, Any]) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Objects by the group whose part they are, with the keywords they came by.

    Raises:
        UsageError: they cannot be combined.
    """
    chosen = {name: _bound(value) for name, value in given.items() if value is not None}
    whole = {name for name in chosen if name in ("vae", "net", "encoder", "decoder")}
    if len(whole) > 1 and whole != {"encoder", "decoder"}:
        raise UsageError(
            f"{', '.join(sorted(whole))} were given together.",
            "Give vae=, or net=, or encoder= and decoder=.",
        )
    if whole in ({"encoder"}, {"decoder"}):
        raise UsageError(f"Only {whole.pop()}= was given.", "Give encoder= and decoder=.")
    if "vae" in chosen and {"posterior", "prior", "likelihood"} & set(chosen):
        raise UsageError(
            "vae= has its own posterior, prior and likelihood.", "Leave those out, or vae=."
        )
    parts: dict[str, tuple[tuple[str, ...], Any]] = {
        group: ((group,), chosen[group]) for group in GROUPS if group in chosen
    }
    if "vae" in chosen:
        if not isinstance(chosen["vae"], VAE):
            raise UsageError(
                f"vae is {type(chosen['vae']).__name__}, wanted a vs.VAE.",
                "Give encoder= and decoder=, or make one: vs.VAE(encoder, decoder, prior).",
            )
        parts |= {g: (("vae",), chosen["vae"]) for g in GROUPS if g != "objective"}
    if "encoder" in chosen:
        for module in (chosen["encoder"], chosen["decoder"]):
            check_module(module)
        parts["net"] = (("encoder", "decoder"), (chosen["encoder"], chosen["decoder"]))
    return parts


def _bound(value: Any) -> Any:
    """A class or function with its settings beside it, as one object."""
    if not isinstance(value, Mapping):
        return value
    settings = {key: entry for key, entry in value.items() if key != "name"}
    maker = value["name"]
    known = parameters_of(maker, _says(maker))
    if unknown := sorted(set(settings) - set(known)):
        hint = nearest(unknown[0], known, otherwise=f"It has {', '.join(known) or 'none'}.")
        raise UsageError(f"{_says(maker)} has no setting {unknown[0]}.", hint)
    return maker(**settings) if _is_objective(maker) else functools.partial(maker, **settings)


def _is_objective(maker: Any) -> bool:
    return isinstance(maker, type) and issubclass(maker, Objective)


def refuse_loose(given: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Settings of a function or class belong beside it: as bare keywords they are the preset's."""
    for keyword, value in given.items():
        if isinstance(value, FunctionType | type):
            for key in set(settings) & set(parameters_of(value, _says(value))):
                raise UsageError(
                    f"{key} is a setting of {_says(value)}.",
                    f'Give both together: {keyword}={{"name": {_says(value)}, "{key}": '
                    f"{settings[key]!r}}}.",
                )


def refuse_twice(given: Mapping[str, Any], settings: Mapping[str, Any], spec: Experiment) -> None:
    """Settings of a group whose part is given as an object would be lost in silence; `spec` has
    the parts in whose place the objects stand."""
    for group, (keywords, _) in by_group(given).items():
        names = getattr(spec, group).model_dump()
        for key in settings:
            if key in (group, *names) or key.startswith(f"{group}."):
                raise UsageError(
                    f"{key} and {', '.join(keywords)} were given together.", "Give one of them."
                )


def with_objects(
    spec: Experiment, given: Mapping[str, Any], latent: int | None = None
) -> tuple[Experiment, dict[str, Any]]:
    """The experiment with objects for parts, and those of them that a folder cannot name.

    `latent` is what the caller asked for, if anything: a whole VAE has its own.
    """
    if isinstance(given.get("vae"), VAE):
        has = _latents(given["vae"], spec)
        if latent not in (None, has):
            raise UsageError(f"vae has {has} latents; latent={latent}.", "Leave latent out.")
        spec = spec.model_copy(update={"latent": has})
    update: dict[str, Any] = {}
    objects: dict[str, Any] = {}
    for group, (keywords, raw) in by_group(given).items():
        of_prior = group == "prior" and keywords == ("prior",) and not callable(raw)
        value = as_prior(raw, spec.latent) if of_prior else raw
        update[group] = _imported(group, value)
        if update[group] is None:
            objects[group] = value
            update[group] = ObjectSpec(
                says=_says(value),
                given=keywords,
                sha256=fingerprint(value),
                start=weights_of(value),
            ).holding(value)
    return spec.model_copy(update=update), objects


def attach(spec: Experiment, objects: Mapping[str, Any], where: str) -> Experiment:
    """The experiment with the objects that it was trained with.

    Raises:
        RunError: one is not what it was then.
    """
    update = {}
    for group, value in objects.items():
        part = getattr(spec, group)
        if not isinstance(part, ObjectSpec):
            raise RunError(
                f"{where} has {group}.name={part.name}, not an object.", f"Leave {group} out."
            )
        if fingerprint(value) != part.sha256:
            raise RunError(
                f"{', '.join(part.given)} of {where} was {part.says}; the given object has other "
                "code, structure or settings.",
                "Give the objects that it was trained with.",
            )
        update[group] = part.holding(value)
    return spec.model_copy(update=update)


def _latents(vae: VAE, spec: Experiment) -> int:
    """How many latents it has. Raises UsageError where its modules return no distributions."""
    encoder, decoder = (copy.deepcopy(part).eval() for part in (vae.encoder, vae.decoder))
    with torch.no_grad():
        q = encoder(torch.zeros(2, *spec.data.shape))
        _check_distribution("encoder", q, "DiagonalPosterior(features, latent)")
        mean: Tensor = q.mean
        if not isinstance(decoder, NoDecoder):
            _check_distribution("decoder", decoder(mean), "SquaredErrorLikelihood()")
    return int(mean.shape[1])


def _check_distribution(part: str, returned: Any, end: str) -> None:
    if not isinstance(returned, Distribution):
        raise UsageError(
            f"The {part} of vae= returns {type(returned).__name__}; vs.VAE wants a distribution.",
            "Pass modules that return tensors as encoder= and decoder=, without vae=, or wrap "
            f"them: vs.nets.{part.capitalize()}(net, vs.nets.{end}).",
        )


def _says(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_says, value))
    if isinstance(value, functools.partial):
        return _says(value.func)
    return value.__qualname__ if isinstance(value, FunctionType | type) else type(value).__name__


def _imported(group: str, value: Any) -> ImportedSpec | None:
    """The import path of an objective or of a function, where it says all there is to know."""
    settings: dict[str, Any] = {}
    if isinstance(value, functools.partial):
        value, settings = value.func, dict(value.keywords)
    if dataclasses.is_dataclass(value) and isinstance(value, Objective):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        settings = {name: schedule_settings(getattr(value, name)) for name in fields}
        value = type(value)
    if not isinstance(value, type | FunctionType):
        return None
    module, name = value.__module__, value.__qualname__
    if module == "__main__" or "<" in name:
        return None
    path = f"{module}:{name}"
    try:
        source = find(path)
    except UsageError:  # a module without a file, as notebooks and tests make them
        return None
    found, _ = maker_of(group, path)
    if code_of(found) != code_of(value):
        raise UsageError(
            f"{source.file} has changed since {module} was imported here.",
            f"Restart Python, or importlib.reload({module}).",
        )
    try:
        model = settings_model(found, path)
        kept = _without_defaults(found, settings, set(model.model_fields))
        checked = model.model_validate(kept)
    except (UsageError, ValidationError):  # it holds what is not a setting
        return None
    return ImportedSpec(name=path, sha256=source.sha256, **checked.model_dump(mode="json"))


def _without_defaults(maker: Any, settings: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Leaves out what is no setting and has its default."""
    defaults = inspect.signature(maker).parameters
    return {
        name: value
        for name, value in settings.items()
        if name in names or value is not defaults[name].default
    }
