"""What a measure can be: no interval ends where no value can lie.

Student's interval knows a spread and no limits: of 0, 0 and 1 passive latents it begins at -1.1.
"""

import math
from collections.abc import Mapping

__all__ = ["COUNTS", "RANGES", "range_of", "range_of_difference", "within"]

Range = tuple[float, float]

_SHARE: Range = (0.0, 1.0)
_SIZE: Range = (0.0, math.inf)
_SHARES_APART: Range = (-1.0, 1.0)
#: By the last word of a measure's name; others may be any number.
RANGES: Mapping[str, Range] = {
    **dict.fromkeys(
        ("mig", "mig_sup", "modularity", "sap", "sap_continuous", "mcc", "mcc_spearman", "beta_vae",
         "factor_vae", "explicitness", "downstream", "dci", "disentanglement", "completeness",
         "informativeness", "dci_d", "dci_c", "dci_i", "udr_lasso", "udr_spearman",
         "column_cosine", "hoyer", "passive_fraction", "infom", "infoc", "dci_size", "monotonicity",
         "smoothness", "cka", "procrustes"), _SHARE,
    ),
    # measures that only studies have
    **dict.fromkeys(
        ("share", "ds", "cosine", "overlap", "distance_to_normal", "ks_mean_active",
         "ks_prior_active", "ks_prior_passive", "lots_below", "lots_below_lot", "often_active",
         "often_passive", "settled", "strongest_active", "strongest_passive", "mig_pair",
         "mig_scale", "pair", "aligned", "printed", "significant", "single_axes",
         "single_turned", "single_pairs", "all", "groups", "inside", "inside_full", "neighbours",
         "passive_alone", "passive_samples", "single", "tc_gap_lots_below", "wave_share",
         "agrees", "dci_unseen", "largest", "mig_best", "mig_kept", "mig_seen", "mig_unseen",
         "mig_worst", "polar_best", "polar_worst", "mig_original", "mig_perturbed", "alike_best",
         "alike_worst", "moved_best", "polarised", "ds_unseen", "completeness_unseen",
         "modularity_unseen", "explicitness_unseen"), _SHARE,
    ),
    **dict.fromkeys(
        ("dto_likelihood", "dto_over_haar", "dto_relative", "angle", "error_over_pca", "od",
         "released_v", "encoder_std", "tc_mean", "tc_mean_without_passive", "tc_sample", "used",
         "last_above", "log_variance_off_passive", "prior_variance_passive", "covered", "sharing",
         "sigma_over_prior_active", "sigma_scaled_active", "variance_miss", "inconsistency",
         "contrast", "bound",
         "bound_best", "bound_turned", "corollary_1_error", "means_distance_active",
         "prior_distance_passive", "variance_of_mean_active", "variance_of_mean_passive", "mi_mean",
         "mi_mean_active", "mi_mean_without_passive", "mi_sample", "rank_mean", "rank_sample",
         "rank_of_correlations_mean", "tc", "tc_mean_lot", "tc_readouts", "measured", "linear",
         "intercept", "tanh", "quadratic", "off_jacobian", "off_linear", "off_tanh",
         "off_quadratic", "od_linear", "od_over_chance", "ratio", "inversion", "summed",
         "overlapping", "distance", "means", "relative", "ever_used", "means_off", "modes", "off",
         "off_global", "off_local", "predicted", "price", "ratio_used", "scale", "used_mean",
         "contrast_over_turned", "distortion_ratio", "left_seen", "left_unseen", "number",
         "ratio_idle", "worse", "of_pairs_axes", "of_pairs_turned", "between",
         "spread_idle", "off_diagonal", "off_marginal", "off_bounds", "models"),
        _SIZE,
    ),
    **dict.fromkeys(
        ("order", "diagonal_lead", "fall_mig", "fall_dci", "fall_factor_vae", "fall_sap",
         "noise_fall_mig", "noise_fall_dci", "noise_fall_factor_vae", "noise_fall_sap",
         "beyond_reversed_mig", "beyond_one-factor_mig"), _SHARES_APART,
    ),
    **dict.fromkeys(
        ("rate", "kl", "active", "mixed", "passive", "mean_variance", "variance_of_mean",
         "total_correlation", "total_correlation_mean", "total_correlation_sample", "dto",
         "dto_haar", "dto_random_decoder", "column_norm", "ima_contrast", "steps",
         "seconds", "beta", "active_units", "entropy_of_means", "id_mle", "id_two_nn"), _SIZE,
    ),
    "irs": (-math.inf, 1.0),
    "infoe": (-math.inf, 1.0),
    "dci_explicitness": (-1.0, 1.0),
    "knn_score": (-1.0, 1.0),
}  # fmt: skip
#: Of a model's latents.
COUNTS = ("active", "mixed", "passive")


def range_of(measure: str, *, latents: int | None = None) -> Range:
    """The least and the most that a measure can be; `latents`: how many there are to be counted.

    >>> range_of("metrics.mean.mig"), range_of("passive", latents=10)
    ((0.0, 1.0), (0.0, 10.0))
    """
    name = measure.rpartition(".")[2]
    low, high = RANGES.get(name, (-math.inf, math.inf))
    return (low, float(latents)) if name in COUNTS and latents is not None else (low, high)


def range_of_difference(measure: str, *, latents: int | None = None) -> Range:
    """The same of one value minus another."""
    low, high = range_of(measure, latents=latents)
    return low - high, high - low


def within(interval: Range | None, allowed: Range) -> Range | None:
    """The part of an interval in which values can lie.

    >>> within((-1.5, 3.0), (0.0, 10.0))
    (0.0, 3.0)
    """
    if interval is None:
        return None
    return max(interval[0], allowed[0]), min(interval[1], allowed[1])
