"""The thresholds of verdicts in one table, each with its reason, and what a verdict is: a sentence
with its number, its threshold and advice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from vaescope.wording import listed

if TYPE_CHECKING:
    from vaescope.inspection import Latent
    from vaescope.latents import Types

__all__ = [
    "PAPERS",
    "THRESHOLDS",
    "Paper",
    "Threshold",
    "Tone",
    "Verdict",
    "against",
    "are",
    "close",
    "listed",
    "near_limit",
    "numbers",
    "of_type",
    "variances",
]

Tone = Literal["good", "note", "warning"]


@dataclass(frozen=True)
class Threshold:
    """Where a number changes what is said of it, and why there."""

    value: float
    reason: str


@dataclass(frozen=True)
class Paper:
    """Where a verdict comes from."""

    title: str
    url: str


@dataclass(frozen=True)
class Verdict:
    """One sentence about the model."""

    id: str
    tone: Tone
    says: str
    number: float
    shown: str  # the number as people read it, e.g. "7 of 10"
    threshold: float
    rule: str  # the threshold in words
    advice: str
    section: str  # id of the report's section that shows more
    latents: tuple[int, ...] = ()
    paper: str | None = None  # a key of PAPERS
    cause: str | None = None  # id of the verdict that this one follows from
    borderline: bool = False  # on the other side of its threshold if that were a tenth off

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "tone": self.tone,
            "says": self.says,
            "number": self.number,
            "threshold": self.threshold,
            "advice": self.advice,
            "latents": list(self.latents),
            "section": self.section,
            "cause": self.cause,
            "borderline": self.borderline,
        }


THRESHOLDS: Mapping[str, Threshold] = {
    "mixed": Threshold(
        0, "more are not a fault: a polarised model may have them (bonheme2023, Definition 2)"
    ),
    "share": Threshold(
        0.01,
        "an active latent of the demo accounts for 20% or more, a passive one for 0.1%; above "
        "ten latents the limit is a tenth of an equal share",
    ),
    "mig": Threshold(0.3, "what the demo reaches, where each factor has a latent of its own"),
    "gap": Threshold(
        0.1, "what the demo reaches if x and y have equal ranges, so that axes may rotate"
    ),
    "knows": Threshold(
        0.1, "20 bins, 32 classes and 2,000 examples give 0.04 by chance; or twice chance"
    ),
    "prior": Threshold(
        0.25,
        "a quarter of the prior's standard deviation: a rule of thumb; below 256 examples four "
        "standard errors of a mean",
    ),
    "repeated": Threshold(0.9, "a tenth of copies narrows intervals by a twentieth"),
    "shape": Threshold(
        0.05,
        "a twentieth of the samples lie where the prior has none; by chance this happens less "
        "than once in a hundred times",
    ),
    "correlated": Threshold(
        0.1,
        "ten latents that are independent give 0.02 nats at 1,000 examples; or twice what chance "
        "gives",
    ),
    "dto": Threshold(0.5, "half the value for randomly rotated axes: a rule of thumb"),
    "dto_random": Threshold(0.8, "four fifths of the value for random axes: a rule of thumb"),
    "cosine": Threshold(0.3, "directions 72 degrees apart: a rule of thumb"),
    "near": Threshold(
        0.05, "where two singular values are this close, axes may rotate (zietlow2022, 3.3.4)"
    ),
    "reconstruction": Threshold(0.95, "a collapsed model has 1, its mean image: a rule of thumb"),
    "scaling": Threshold(0.1, "a tenth: a rule of thumb"),
    "settled": Threshold(0.05, "a twentieth of the loss: a rule of thumb"),
    "borderline": Threshold(0.1, "a tenth of a limit: the limits are rules of thumb themselves"),
}

PAPERS: Mapping[str, Paper] = {
    "bonheme2023": Paper("Bonheme and Grzes 2023", "https://arxiv.org/abs/2109.12679"),
    "zietlow2022": Paper("Zietlow 2022, chapter 3", "https://arxiv.org/abs/1812.06775"),
    "ldm": Paper("Rombach et al. 2022", "https://arxiv.org/abs/2112.10752"),
    "mig": Paper("Chen et al. 2018", "https://arxiv.org/abs/1802.04942"),
}


def near_limit(number: float, limit: float) -> bool:
    """Whether a number is so near to its limit that the other side is as likely."""
    width = THRESHOLDS["borderline"].value * abs(limit)
    return bool(limit != 0 and abs(number - limit) <= width)


def close(number: float, limit: float, what: str = "That", *, unit: str = "") -> str:
    """A sentence where a number is borderline: ` That is borderline: 0.11 (limit 0.10).`"""
    value, end = against(number, limit, unit).split(" against ")
    return f" {what} is borderline: {value} (limit {end})." * near_limit(number, limit)


def against(number: float, limit: float, unit: str = "") -> str:
    """Both numbers with as many digits as tell them apart.

    >>> against(0.1004, 0.1), against(0.052, 0.05, "%")
    ('0.1004 against 0.1000', '5.2% against 5.0%')
    """
    scale = 100.0 if unit == "%" else 1.0
    unit = f" {unit}" if unit not in ("", "%") else unit
    for digits in range(2, 7):
        one, other = (f"{scale * value:#.{digits}g}".rstrip(".") for value in (number, limit))
        if one != other:
            break
    return f"{one}{unit} against {other}{unit}"


def are(count: int, what: str) -> str:
    return f"{count} {what} is" if count == 1 else f"{count} {what}s are"


def of_type(latents: "Sequence[Latent]", kind: str) -> "list[Latent]":
    return [latent for latent in latents if latent.type == kind]


def numbers(latents: "Sequence[Latent]") -> tuple[int, ...]:
    return tuple(sorted(latent.index for latent in latents))


def variances(latents: "Sequence[Latent]", kinds: "Types | None") -> str:
    """Mean posterior variances in words, over that of an unused latent where that is not 1."""
    rescaled = kinds is not None and kinds.rescaled
    values = [
        float(kinds.mean_ratio[z.index]) if rescaled and kinds is not None else z.mean_variance
        for z in latents
    ]
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    between = low if low == high else f"{low} to {high}"
    return f"mean variance {between}{' times that of an unused latent' if rescaled else ''}"
