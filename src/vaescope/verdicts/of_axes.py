"""What is said of the axes: whether they are correlated, orthogonal, and know factors apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vaescope.verdicts.verdict import (
    THRESHOLDS,
    Tone,
    Verdict,
    listed,
    numbers,
    of_type,
    variances,
)

if TYPE_CHECKING:
    from vaescope.geometry.overview import Overview
    from vaescope.inspection import Factors, Latent
    from vaescope.latents import Types
    from vaescope.measures import Measures
    from vaescope.pruning.price import Price

__all__ = ["correlated", "orthogonal", "separated"]


def correlated(
    latents: "Sequence[Latent]",
    measures: "Measures | None",
    kinds: "Types | None" = None,
    price: "Price | None" = None,
    heard: Sequence[int] = (),
) -> Verdict | None:
    """bonheme2023: passive latents, not active ones, make means look correlated.

    `price` is what dropping them costs, and `heard` are those that the decoder still uses."""
    passive = of_type(latents, "passive")
    if measures is None or not passive or len(passive) == len(latents):
        return None
    of = measures.correlation
    mean, sample, kept = of["mean"], of["sample"], of["mean_without_passive"]
    if mean is None or sample is None:
        return None
    limit = THRESHOLDS["correlated"].value
    rest = 0.0 if kept is None else kept.total_correlation
    gap = mean.total_correlation - rest
    which = listed(numbers(passive))
    are = "is" if len(passive) == 1 else "are"
    says = (
        f"{len(passive)} of {len(latents)} latents {are} passive ({which}; "
        f"{variances(passive, kinds)}). "
        f"The total correlation of the means is {mean.total_correlation:.2f} nats, of the samples "
        f"{sample.total_correlation:.2f}, and of the means without the passive latents {rest:.2f}"
    )
    rule = f"less than {limit:g} nats of it goes with the passive latents"
    used = listed(sorted(z.index for z in latents if z.type != "passive"))
    if gap >= limit:
        tone: Tone = "warning"
        says += ": the passive ones make them look correlated."
        advice = (
            f"Drop the passive latents before you feed means to a linear model: keep {used}. Where "
            "there are labels, `vaescope prune` says what that costs."
        )
    else:
        tone = "note"
        says += ": the passive ones add little to it."
        advice = (
            f"Drop them where you feed samples to another model: theirs are noise. Keep {used}."
        )
    if heard:
        advice = f"Keep all for now: the decoder listens to {listed(heard)}. Train longer."
    elif price is not None:
        advice = price.advice()
    return Verdict(
        "passive", tone, says, number=gap, shown=f"{gap:.2f} nats", threshold=limit, rule=rule,
        advice=advice, section="correlation", latents=numbers(passive), paper="bonheme2023",
    )  # fmt: skip


def _near(geometry: "Overview") -> list[tuple[int, int]]:
    """Pairs of used latents whose columns are equally long, so that they may turn."""
    norms = geometry.measures.get("column_norm")
    values = getattr(norms, "per_column", None)
    if values is None:
        return []
    limit = THRESHOLDS["near"].value
    columns = geometry.columns
    return [
        (columns[i], columns[j])
        for i in range(len(columns))
        for j in range(i + 1, len(columns))
        if min(values[i], values[j]) >= (1 - limit) * max(values[i], values[j]) > 0
    ]


def orthogonal(geometry: "Overview | None") -> Verdict | None:
    """zietlow2022: the diagonal posterior makes the decoder's columns orthogonal."""
    if geometry is None or "dto" not in geometry.measures:
        return None
    dto, haar = geometry.measures["dto"].value, geometry.measures["dto_haar"].value
    limit = THRESHOLDS["dto"].value * haar
    near = _near(geometry)
    except_for = ""
    if near:
        pairs = listed([f"{i} with {j}" for i, j in near])
        except_for = f", except where columns are equally long within 5% and may turn ({pairs})"
    rule = f"below {limit:.2f}, half of what random axes have"
    number = f"DtO is {dto:.2f} against {haar:.2f} for axes turned at random: "
    turning = tuple(sorted({latent for pair in near for latent in pair}))
    if dto < limit:
        return Verdict(
            "orthogonal", "good",
            f"{number}the decoder moves the image in orthogonal directions, so that the axes are "
            f"those of its local principal components{except_for}.",
            number=dto, shown=f"{dto:.2f}", threshold=limit, rule=rule,
            advice="Read latents one by one; compare seeds before you give them names.",
            section="geometry", latents=turning, paper="zietlow2022",
        )  # fmt: skip
    if dto < THRESHOLDS["dto_random"].value * haar:
        return Verdict(
            "orthogonal", "note",
            f"{number}the decoder's directions are nearer to orthogonal than chance, but not "
            f"orthogonal{except_for}.",
            number=dto, shown=f"{dto:.2f}", threshold=limit, rule=rule,
            advice="Read latents one by one with care: moving one may show a little of another.",
            section="geometry", latents=turning, paper="zietlow2022",
        )  # fmt: skip
    return Verdict(
        "turned", "warning",
        f"{number}the decoder's directions are no more orthogonal than chance, so that its axes "
        f"are not the local principal components of what it draws{except_for}.",
        number=dto, shown=f"{dto:.2f}", threshold=limit, rule=rule,
        advice="Do not read latents one by one. Train longer or with a larger beta and a diagonal "
        "posterior, or rotate the used latents.",
        section="geometry", latents=geometry.columns, paper="zietlow2022",
    )  # fmt: skip


def separated(factors: "Factors | None", latents: "Sequence[Latent]" = ()) -> Verdict | None:
    if factors is None:
        return None
    value, protocol = factors.mig.value, factors.mig.protocol
    high, low = THRESHOLDS["mig"], THRESHOLDS["mig_turned"]
    knows = factors.least
    passive = numbers(of_type(latents, "passive"))
    used = factors.normalised.copy()
    used[list(passive)] = 0.0  # their means may know a factor, but the decoder does not use them
    best, most = used.argmax(axis=0), used.max(axis=0)
    names = np.array(factors.names)
    pairs = [
        f"{name} in latent {best[k]} ({most[k]:.2f})"
        for k, name in enumerate(factors.names)
        if most[k] >= knows[k]
    ]
    hidden = factors.normalised.max(axis=0) - most >= knows
    lost = names[(most < knows) & ~hidden].tolist()
    found = f" Best known: {', '.join(pairs)}." if pairs else ""
    found += f" Known to none: {', '.join(lost)}." if lost else ""
    if hidden.any():
        found += f" Means of passive latents know most of {listed(names[hidden].tolist())}."
    chance = "" if factors.mig.chance is None else f", {factors.mig.chance:.2f} by chance"
    seen = ", supervised" if factors.supervised else ""
    number = f"MIG is {value:.2f} (one seed{seen}{chance}, n = {protocol.n:,}): "
    if factors.supervised:
        tone: Tone = "note"
        says = f"{number}the encoder saw the factors, so that this is no finding of its own.{found}"
        advice = "Judge it on data whose factors it did not see, or against a model without u."
    elif value >= high.value and hidden.any():
        tone = "note"
        says = f"{number}the means tell the factors apart, those of passive latents among them."
        says += found
        advice = "Read the table of factors without the passive latents: the decoder ignores them."
    elif value >= high.value:
        tone = "good"
        says = f"{number}the axes tell the factors apart.{found}"
        advice = "Train other seeds before you rely on it: they can differ as much as methods do."
    elif value >= low.value:
        tone = "note"
        says = f"{number}the axes tell some of the factors apart.{found}"
        advice = "Look at the table of factors for the ones that share a latent."
    else:
        tone = "warning"
        says = f"{number}the axes do not tell the factors apart.{found}"
        advice = "Treat the latents as coordinates without meaning; do not name them."
    return Verdict(
        "mig", tone, says, number=value, shown=f"{value:.2f}", threshold=high.value,
        rule=f"{high.value:g} or more; below {low.value:g} axes look turned at random",
        advice=advice, section="factors",
        latents=tuple(sorted({int(i) for i, share in zip(best, most, strict=True) if share})),
        paper="mig",
    )  # fmt: skip
