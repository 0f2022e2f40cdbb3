"""Protocols: every choice on which a score depends, by name. One literal table.

`default` is what we consider right. `dlib` gives the values of disentanglement_lib's code, and so
of most published numbers. `chen` and `kim` are the estimators of bhowal2024 and mathieu2019.
docs/metrics.md says where they differ and why.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from vaescope.errors import UsageError

__all__ = ["PROTOCOLS", "Preset", "preset"]


@dataclass(frozen=True)
class Preset:
    """The choices that protocols make differently; a metric's other settings are its defaults.

    Example:
        >>> import vaescope as vs
        >>> vs.metrics.PROTOCOLS["dlib"].bins
        20
    """

    name: str  # as in --protocol
    says: str
    points: int | None = None  # rows of metrics that need no split; None: all
    bins: int = 20  # number of equal-width bins for each latent
    posterior_information: bool = False  # whether MIG and MIG-sup use q(z|x) instead of bins
    adjusted_information: bool = True  # whether MIG-sup and modularity are adjusted for chance
    engine: str = "first-order"  # classifier of DCI
    standardised_codes: bool = True  # for SAP and the beta-VAE score
    rescaled_explicitness: bool = True  # whether explicitness is 2 AUC - 1
    folds: bool = False  # whether cross-validation chooses the downstream penalty
    factor_bins: int | None = None  # number of bins of the factors in IRS
    typed_latents: bool = True  # InfoM and InfoC: over latents that are not passive; else by range
    votes: int = 10_000  # number of training votes
    test_votes: int = 5_000  # 0: the FactorVAE score is judged by the votes that it learnt from
    factor_vae_batch: int = 64  # rows behind a vote
    least_deviation: float = 0.05  # least standard deviation of a latent in a vote


PROTOCOLS: Mapping[str, Preset] = {
    "default": Preset("default", "what we consider right"),
    "dlib": Preset(
        "dlib",
        "disentanglement_lib by value",
        points=10_000,
        adjusted_information=False,
        engine="gradient-boosting",
        standardised_codes=False,
        rescaled_explicitness=False,
        folds=True,
        factor_bins=20,
        typed_latents=False,
    ),
    "chen": Preset(
        "chen",
        "MIG and MIG-sup as in bhowal2024: by the posteriors of samples, on the released factors",
        posterior_information=True,
    ),
    "kim": Preset(
        "kim",
        "FactorVAE score as in mathieu2019: 20,000 votes of 1,000 rows, scored on the training "
        "votes",
        votes=20_000,
        test_votes=0,
        factor_vae_batch=1_000,
        least_deviation=0.0,
    ),
}


def preset(name: str) -> Preset:
    """The protocol of that name."""
    if name not in PROTOCOLS:
        raise UsageError(
            f"There is no protocol {name!r}; there are {', '.join(PROTOCOLS)}.",
            "Use one of those.",
        )
    return PROTOCOLS[name]
