"""What a model learnt, in rows: a group of latents or a used latent each, with what it draws."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from vaescope.inspection.results import Inspection, Latent
from vaescope.latents import LatentGroup
from vaescope.traversals import Decode, Traversals
from vaescope.types import Floats

__all__ = ["Learnt", "LearntRow", "Strip", "learnt_of", "strips_along"]

#: Pictures in a strip, and strips in a row.
PICTURES, STRIPS = 5, 2


@dataclass(frozen=True, eq=False)
class Strip:
    """Outputs along one axis, from low to high; None where pictures are left out."""

    says: str  # what moves
    outputs: Floats | None  # (pictures, *event)


@dataclass(frozen=True, eq=False)
class LearntRow:
    """A group of latents, or one that no factor names."""

    name: str
    note: str  # which latents, and how they hold it
    latents: tuple[int, ...]
    types: tuple[str, ...]
    kl_nats: float | None  # of all its latents
    change: float | None  # share of these latents in all change of the output along them
    known: float | None  # share of the factors' variance that they explain
    strips: tuple[Strip, ...]


@dataclass(frozen=True, eq=False)
class Learnt:
    """Rows by KL, and what there is to say of the rest."""

    rows: tuple[LearntRow, ...]
    passive: tuple[int, ...]
    says: tuple[str, ...]  # at most three sentences


def strips_along(
    found: Inspection, decode: Decode, moved: Traversals, centre: Floats, scale: Floats
) -> dict[int, Floats]:
    """Outputs along the rotated axes of groups, by the latent whose place the axis takes."""
    if found.groups is None or moved.outputs is None:
        return {}
    own: dict[int, Floats] = {}
    base = (moved.base - centre) / scale
    for group in found.groups.groups:
        if len(group.latents) < 2 or not group.angle:
            continue
        for latent in group.latents:
            axis = found.groups.rotation[latent]
            codes = base + (_picked(moved.values)[:, None] - base @ axis) * axis
            z = torch.from_numpy((centre + scale * codes).astype(np.float32))
            with torch.inference_mode():
                own[latent] = decode(z).float().cpu().numpy()
    return own


def learnt_of(found: Inspection) -> Learnt:
    """The rows of an inspection, those of largest KL first."""
    by_index = {latent.index: latent for latent in found.latents}
    used = {z.index for z in found.latents if z.type != "passive"}
    rows, taken = [], set[int]()
    groups = () if found.groups is None else found.groups.groups
    for group in sorted(groups, key=lambda one: len(one.latents)):
        own = [j for j in group.latents if j not in taken]
        if own:
            rows.append(_group_row(found, group, [by_index[j] for j in own]))
            taken |= set(own)
    rows += [_latent_row(found, by_index[j]) for j in sorted(used - taken)]
    rows.sort(key=lambda row: -(row.kl_nats or 0.0))
    passive = tuple(sorted(set(by_index) - used))
    return Learnt(tuple(rows), passive, _sentences(found, len(used)))


def _group_row(found: Inspection, group: LatentGroup, latents: Sequence[Latent]) -> LearntRow:
    note = group.where
    rotated = found.axes if group.angle and len(group.latents) > 1 else {}
    strips = []
    for z in latents[:STRIPS]:
        if z.index in rotated:
            strips.append(Strip(_axis_name(found, group, z.index), rotated[z.index]))
        else:
            strips.append(_strip(found, z))
    return _row(found, _listed(group.factors), note, latents, tuple(strips), group.share)


def _latent_row(found: Inspection, latent: Latent) -> LearntRow:
    note: str = latent.type
    name = f"latent {latent.index}"
    seen = found.seen.get(latent.index)
    if seen is not None:
        name, note = f"{name}: {seen.kind}", f"{note}, {seen.how}"
    weak = [] if found.groups is None else [
        factor.name
        for factor in found.groups.factors
        if factor.standing == "weak" and latent.index in factor.latents
    ]  # fmt: skip
    if weak:
        note += f", encodes a little of {_listed(weak)}"
    return _row(found, name, note, [latent], (_strip(found, latent),), None)


def _row(
    found: Inspection, name: str, note: str, latents: Sequence[Latent],
    strips: tuple[Strip, ...], known: float | None,
) -> LearntRow:  # fmt: skip
    rates = [z.kl_nats for z in latents]
    moved = found.traversals
    return LearntRow(
        name, note, tuple(z.index for z in latents), tuple(z.type for z in latents),
        None if None in rates else float(sum(rate or 0.0 for rate in rates)),
        None if moved is None else float(sum(moved.share[z.index] for z in latents)),
        known, strips,
    )  # fmt: skip


def _strip(found: Inspection, latent: Latent) -> Strip:
    moved = found.traversals
    outputs = None if moved is None or moved.outputs is None else moved.outputs[latent.index]
    return Strip(f"latent {latent.index}", None if outputs is None else _picked(outputs))


def _axis_name(found: Inspection, group: LatentGroup, latent: int) -> str:
    """The factor that an axis was given to: the nearest of the group's directions."""
    assert found.groups is not None
    return found.groups.axis_factor.get(latent, f"the axis beside {_listed(group.factors)}")


def _picked(values: Floats) -> Floats:
    """The ends, the middle and two between."""
    return np.asarray(values[np.linspace(0, len(values) - 1, PICTURES).astype(np.int64)])


def _sentences(found: Inspection, used: int) -> tuple[str, ...]:
    d = len(found.latents)
    first = f"{used} of {d} latents {'is' if used == 1 else 'are'} used"
    groups = found.groups
    if groups is None:
        kinds: dict[str, list[str]] = {}
        for z in sorted(found.latents, key=lambda z: z.index):
            seen = found.seen.get(z.index)
            if seen is not None:
                kinds.setdefault(seen.kind, []).append(str(z.index))
        named = _listed([f"{_listed(own)} {_are(own)} {kind}" for kind, own in kinds.items()])
        by_sight = f" By what the decoder draws, {named}." if named else ""
        sentences = [f"{first}; there are no factors to name them.{by_sight}"]
    else:
        held = "; ".join(group.says for group in groups.groups)
        sentences = [f"{first}: {held}." if held else f"{first}, and no factor names one."]
        rest = []
        for word, standing in (
            ("spread over all used latents", "spread"),
            ("encoded weakly", "weak"),
            (f"not found in any latent (n = {groups.n:,})", "none"),
        ):
            factors = [factor for factor in groups.factors if factor.standing == standing]
            names = [factor.name for factor in factors if not factor.doubt]
            if names:
                rest.append(f"{_listed(names)} {_are(names)} {word}")
            rest += [f"{f.name} is {word} ({f.doubt[2:]})" for f in factors if f.doubt]
        if rest:
            sentences.append(_capital("; ".join(rest)) + ".")
    worst = next((own for own in found.verdicts if own.tone == "warning"), None)
    worst = worst or next(iter(found.verdicts), None)
    if worst is not None:
        sentences.append(_first(worst.says))
    return tuple(sentences)


def _first(text: str) -> str:
    """The first sentence: up to a full stop that a capital follows."""
    for place in range(len(text) - 2):
        if text[place : place + 2] == ". " and text[place + 2].isupper():
            return text[: place + 1]
    return text


def _are(words: Sequence[str]) -> str:
    return "is" if len(words) == 1 else "are"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
