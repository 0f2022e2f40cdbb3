"""`vs.compare`: models on the same images, their latents matched, differences with intervals."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vaescope.build import build_data
from vaescope.codes import Codes
from vaescope.comparing.compared_runs import Member, differing, letter, one_shape, read_members
from vaescope.comparing.differences import latent_of, of_numbers, of_rows
from vaescope.comparing.intervals import Side, sides_of
from vaescope.comparing.matching import Match, match_latents
from vaescope.comparing.pictures import show
from vaescope.comparing.result import ComparedNumber, Comparison
from vaescope.comparing.scores import ResampledNumber, numbers_of, wanted, with_noise
from vaescope.comparing.verdicts import judge
from vaescope.data import Dataset
from vaescope.errors import UsageError, VaescopeError
from vaescope.latent_exchange import Exchange, exchange_opened
from vaescope.latents import Types, types
from vaescope.latents.groups import groups_if_known
from vaescope.models import OpenModel
from vaescope.opening import knows_itself, open_model
from vaescope.progress import Progress, told
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.specs import resolve
from vaescope.types import Floats, Integers
from vaescope.user_data import as_dataset
from vaescope.wording import listed

__all__ = ["compare", "latent_names"]

#: Images that are encoded, and of these those that are decoded.
ROWS, DECODED = 5_000, 2_000
#: Runs whose pictures are shown.
PICTURED = 6
#: Images, half of which fit the maps of exchanged latents; and models beside the first, both ways
#: each.
EXCHANGED, PARTNERS = 1_000, 4


def compare(
    *models: Any,
    data: Any = None,
    metrics: Sequence[str] | None = None,
    images: bool = True,
    names: Sequence[str | None] | None = None,
    posterior: str | None = None,
    output: str | None = None,
    value_range: tuple[float, float] | None = None,
    likelihood: Any = None,
    prior: Any = None,
    condition: Any = None,
    progress: Progress | bool | None = None,
) -> Comparison:
    """Compares two or more models on at most 5,000 images of the first run's data.

    Runs that differ only in their seeds are one setting. Several settings are compared with the
    first, with intervals over seeds if there are enough of them, otherwise over images. Arguments
    from `posterior` to `condition` apply to all models that vaescope did not train.

    Args:
        models: anything that `vs.open_model` opens; a list of models works too.
        data: rows that all models encode; None takes those of the first run.
        metrics: names of `vs.metrics.METRICS`; None takes those that fit no predictor.
        images: whether the result keeps pictures.
        names: names for models that are not runs.
        posterior: how to interpret encoders' outputs, e.g. `logvar`; None infers it.
        output: `probabilities`, `logits` or `pixels`; None infers it.
        value_range: of the images that the models take; None infers it.
        likelihood: p(x|z), e.g. `gaussian:0.01`; None infers it.
        prior: p(z), e.g. `student-t:5`; None infers it.
        condition: what conditional models take beside x.
        progress: True draws a bar; a function gets the name of each part.

    Returns:
        `Comparison`: runs side by side on the same images, latents matched.

    Raises:
        BusyError: another process works on the same run.
        DiskError: a folder cannot be written.
        RangeError: a value is out of range.
        RunError: a folder is not a run, or the run does not fit.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x)
        >>> comparison = vs.compare(model, vs.known.linear_vae(x, latent=4), data=x, images=False)
        >>> [len(kinds.passive) for kinds in comparison.kinds]
        [3, 1]
    """
    asked = {
        "posterior": posterior, "output": output, "value_range": value_range,
        "likelihood": likelihood, "prior": prior, "condition": condition,
    }  # fmt: skip
    asked = {name: value for name, value in asked.items() if value is not None}
    with told(progress, "compare") as tell:
        return _compare(models, data, metrics, asked, images=images, names=names, progress=tell)


def _compare(
    models: Sequence[Any],
    data: Any,
    metrics: Sequence[str] | None,
    asked: Mapping[str, Any],
    *,
    images: bool,
    names: Sequence[str | None] | None,
    progress: Progress,
) -> Comparison:
    if len(models) <= 2 and models and isinstance(models[0], list | tuple):
        # vs.compare([run, module], data)
        data = models[1] if len(models) == 2 else data
        models = tuple(models[0])
    runs = [Run(Path(own)) if isinstance(own, str | Path) else own for own in models]
    members = read_members(runs, names or [None] * len(runs))
    if asked and all(knows_itself(member.model) for member in members):
        raise UsageError(
            "The meaning of outputs is known for models that vaescope trained.",
            f"Leave {listed(list(asked))} out.",
        )
    wanted_metrics = wanted(metrics)
    given = _data(members, data)
    one_shape(members, given.shape)
    opened = []
    for member in members:
        progress(f"encoding with {member.name}")
        own = {} if knows_itself(member.model) else asked
        opened.append(open_model(member.model, given, name=member.name, rows=ROWS, **own))
    rows = opened[0].rows
    codes = [own.codes for own in opened]
    kinds = [types(own) for own in codes]
    progress("matching latents")
    matches = match_latents(codes, kinds)
    noises = _noises(matches, codes[0].n)
    sides = sides_of(members)
    latents = tuple(latent_of(match, codes, kinds, sides) for match in matches)
    progress("measuring")
    measured, skipped = _metrics(codes, kinds, noises, wanted_metrics, sides)
    few = np.linspace(0, len(rows) - 1, min(DECODED, len(rows))).astype(np.int64)
    fitted, not_fitted = _fit(opened, few, noises, sides)
    progress("exchanging latents")
    exchanges, not_exchanged = _exchanges_with_first(opened)
    progress("drawing")
    comparison = Comparison(
        members, tuple(kinds), sides, latents, fitted | measured, differing(members), given.name,
        len(rows), len(given), (), _notes(members, given=data is not None),
        skipped | not_fitted | not_exchanged,
        show(opened, matches, most=PICTURED) if images else None, exchanges,
        latent_names(codes, kinds, matches),
    )  # fmt: skip
    return judge(comparison)


def _data(members: Sequence[Member], data: Any) -> Dataset:
    if data is not None:
        # Models of others get their data as they came, also standardised.
        foreign = not any(knows_itself(member.model) for member in members)
        return as_dataset(data, most=ROWS, foreign=foreign)
    spec = next((own.spec for own in members if own.spec is not None), None)
    if spec is None:
        raise UsageError("Only runs record their data.", "Pass data= with these models.")
    return build_data(spec.data)


def _noises(matches: Sequence[Match], n: int) -> list[Floats]:
    """Noise of each run, (n, d): the same in latents that are matched, mirrored where they are, so
    that a model with its latents in another order has the same samples."""
    common = rng(0, "compare-noise").standard_normal((n, len(matches))).astype(np.float32)
    noises = []
    for place in range(len(matches[0])):
        placed = [(column, own) for column, match in enumerate(matches) if (own := match[place])]
        noise = np.empty((n, len(placed)), dtype=np.float32)
        for column, own in placed:
            noise[:, own.latent] = own.sign * common[:, column]
        noises.append(noise)
    return noises


def _metrics(
    codes: Sequence[Codes],
    kinds: Sequence[Types],
    noises: Sequence[Floats],
    names: Sequence[str],
    sides: Sequence[Side],
) -> tuple[dict[str, ComparedNumber], dict[str, str]]:
    every: list[Mapping[str, ResampledNumber]] = []
    skipped: dict[str, str] = {}
    for own, kind, noise in zip(codes, kinds, noises, strict=True):
        found, reasons = numbers_of(with_noise(own, noise), kind, names)
        every.append(found)
        skipped |= reasons
    there = dict.fromkeys(name for found in every for name in found)
    n, latents = codes[0].n, max(own.d for own in codes)
    return {
        name: of_numbers(name, [own.get(name) for own in every], sides, n, latents=latents)
        for name in there
    }, skipped


def _fit(
    opened: Sequence[OpenModel], few: Integers, noises: Sequence[Floats], sides: Sequence[Side]
) -> tuple[dict[str, ComparedNumber], dict[str, str]]:
    """Distortion, rate and ELBO at the same noise in matched latents."""
    if any(own.maps is not None for own in opened):
        reason = "latents that are maps have no code to decode from"
        return {}, dict.fromkeys(("rate", "distortion", "elbo"), reason)
    noise_of_few = [noise[few] for noise in noises]
    pairs = list(zip(opened, noise_of_few, strict=True))
    rates = [own.rate(few, noise) if own.codes.stochastic else None for own, noise in pairs]
    measured = {"rate": of_rows("rate", rates, sides)}
    skipped = {}
    if any(own is None for own in rates):
        skipped["rate"] = "a point posterior has no density and so no rate"
    likelihoods = {_likelihood(own) for own in opened}
    if len(likelihoods) > 1:
        reason = (
            f"likelihoods differ ({', '.join(sorted(likelihoods))}), so nats cannot be compared"
        )
        return measured, skipped | dict.fromkeys(("distortion", "elbo"), reason)
    distortions = [own.distortion(few, noise) for own, noise in pairs]
    elbos = [None if r is None else -d - r for d, r in zip(distortions, rates, strict=True)]
    return {
        "elbo": of_rows("elbo", elbos, sides),
        "distortion": of_rows("distortion", distortions, sides),
        **measured,
    }, skipped


def _likelihood(model: OpenModel) -> str:
    if model.spec is not None:
        return str(resolve(model.spec).likelihood.name)
    output = next((i.read for i in model.inferred if i.what == "output"), "")
    known = {"probabilities": "bernoulli", "logits": "bernoulli"}
    known |= dict.fromkeys(("pixels", "values"), "squared-error")
    return known.get(output, output)


def _notes(members: Sequence[Member], *, given: bool) -> tuple[str, ...]:
    if given:
        return (
            "All models encoded the given data, including models that were trained on other data.",
        )
    first = next(own.spec.data for own in members if own.spec is not None)
    others = {
        letter(place): member.spec.data.name
        for place, member in enumerate(members)
        if member.spec is not None and member.spec.data != first
    }
    if not others:
        return ()
    named = listed([f"{run} ({data})" for run, data in others.items()])
    return (
        f"{named} was trained on data other than A's; all numbers are on A's data ({first.name}).",
    )


def _exchanges_with_first(
    opened: Sequence[OpenModel],
) -> tuple[tuple[Exchange, ...], dict[str, str]]:
    """From the first to each of the others and back, by their letters; why some are left out."""
    exchanges, skipped = [], {}
    for other in range(1, len(opened)):
        for a, b in ((0, other), (other, 0)):
            names = letter(a), letter(b)
            if other > PARTNERS:
                skipped[f"exchange of {names[0]} to {names[1]}"] = f"only {PARTNERS} are exchanged"
                continue
            try:
                exchanges.append(exchange_opened(opened[a], opened[b], names, rows=EXCHANGED))
            except (VaescopeError, RuntimeError, NotImplementedError) as error:
                # Anybody's decoder: what it does not take is left out, with the reason.
                lines = str(error).splitlines()
                reason = lines[0] if lines else type(error).__name__
                skipped[f"exchange of {names[0]} to {names[1]}"] = reason
    return tuple(exchanges), skipped


def latent_names(
    codes: Sequence[Codes], kinds: Sequence[Types], matches: Sequence[Match]
) -> tuple[str | None, ...]:
    """One for each match; None where no run names it. Where runs name it differently, each name
    stands with its run: `x in A and y in B`."""
    groups = [groups_if_known(own, kind) for own, kind in zip(codes, kinds, strict=True)]
    names = []
    for match in matches:
        said: dict[str, list[str]] = {}
        for place, (one, own) in enumerate(zip(match, groups, strict=True)):
            # Latents that were only left over have nothing in common that a name could be of.
            if one is None or own is None or one.how == "rest":
                continue
            group = own.of(one.latent)
            if group is not None:
                called = listed(group.factors)
                called += ", with others" if len(group.latents) > 1 else ""
                said.setdefault(called, []).append(letter(place))
        names.append(_joined(said))
    return tuple(names)


def _joined(said: dict[str, list[str]]) -> str | None:
    if len(said) > 1:
        return listed([f"{name} in {listed(runs)}" for name, runs in said.items()])
    return next(iter(said), None)
