"""What is said of the axes: whether they are correlated, orthogonal, and know factors apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vaescope.verdicts.verdict import THRESHOLDS, Tone, Verdict, listed, numbers, of_type

if TYPE_CHECKING:
    from vaescope.geometry.overview import Overview
    from vaescope.inspection import Factors, Latent
    from vaescope.measures import Measures

__all__ = ["correlated", "orthogonal", "separated"]


def correlated(latents: "Sequence[Latent]", measures: "Measures | None") -> Verdict | None:
    """001: passive latents, not active ones, make means look correlated."""
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
    variances = [latent.mean_variance for latent in passive]
    low, high = f"{min(variances):.2f}", f"{max(variances):.2f}"
    between = low if low == high else f"{low} to {high}"
    which = listed(numbers(passive))
    says = (
        f"{len(passive)} of {len(latents)} latents are passive ({which}; mean variance {between}). "
        f"The total correlation of the means is {mean.total_correlation:.2f} nats, of the samples "
        f"{sample.total_correlation:.2f}, and of the means without the passive latents {rest:.2f}"
    )
    rule = f"less than {limit:g} nats of it goes with the passive latents"
    used = listed(sorted(z.index for z in latents if z.type != "passive"))
    if gap >= limit:
        return Verdict(
            "passive", "warning", f"{says}: the passive ones make them look correlated.",
            number=gap, shown=f"{gap:.2f} nats", threshold=limit, rule=rule,
            advice="Drop the passive latents before you feed means to a linear model: keep "
            f"{used}.",
            section="correlation", latents=numbers(passive), paper="001",
        )  # fmt: skip
    return Verdict(
        "passive", "note", f"{says}: the passive ones add little to it.",
        number=gap, shown=f"{gap:.2f} nats", threshold=limit, rule=rule,
        advice=f"Drop them all the same: their samples are noise. Keep {used}.",
        section="correlation", latents=numbers(passive), paper="001",
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
    """002: the diagonal posterior makes the decoder's columns orthogonal."""
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
            section="geometry", latents=turning, paper="002",
        )  # fmt: skip
    if dto < THRESHOLDS["dto_random"].value * haar:
        return Verdict(
            "orthogonal", "note",
            f"{number}the decoder's directions are nearer to orthogonal than chance, but not "
            f"orthogonal{except_for}.",
            number=dto, shown=f"{dto:.2f}", threshold=limit, rule=rule,
            advice="Read latents one by one with care: moving one may show a little of another.",
            section="geometry", latents=turning, paper="002",
        )  # fmt: skip
    return Verdict(
        "turned", "warning",
        f"{number}the decoder's directions are no more orthogonal than chance, so that its axes "
        f"are not the local principal components of what it draws{except_for}.",
        number=dto, shown=f"{dto:.2f}", threshold=limit, rule=rule,
        advice="Do not read latents one by one. Train longer or with a larger beta and a diagonal "
        "posterior, or rotate the used latents.",
        section="geometry", latents=geometry.columns, paper="002",
    )  # fmt: skip


def separated(factors: "Factors | None") -> Verdict | None:
    if factors is None:
        return None
    value, protocol = factors.mig.value, factors.mig.protocol
    high, low = THRESHOLDS["mig"], THRESHOLDS["mig_turned"]
    knows = THRESHOLDS["knows"].value
    best = factors.normalised.argmax(axis=0)  # the latent that knows most of each factor
    pairs = [
        f"{name} in latent {best[k]} ({factors.normalised[best[k], k]:.2f})"
        for k, name in enumerate(factors.names)
        if factors.normalised[best[k], k] >= knows
    ]
    lost = [name for k, name in enumerate(factors.names) if factors.normalised[best[k], k] < knows]
    found = f" Best known: {', '.join(pairs)}." if pairs else ""
    found += f" Known to none: {', '.join(lost)}." if lost else ""
    chance = "" if factors.mig.chance is None else f", {factors.mig.chance:.2f} by chance"
    seen = ", supervised" if factors.supervised else ""
    number = f"MIG is {value:.2f} (one seed{seen}{chance}, n = {protocol.n:,}): "
    if factors.supervised:
        tone: Tone = "note"
        says = f"{number}the encoder saw the factors, so that this is no finding of its own.{found}"
        advice = "Judge it on data whose factors it did not see, or against a model without u."
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
        advice=advice, section="factors", latents=tuple(sorted({int(i) for i in best})),
        paper="mig",
    )  # fmt: skip
