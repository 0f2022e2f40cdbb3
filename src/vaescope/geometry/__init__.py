"""Geometry of decoders: what their Jacobians say of the axes of the latent space.

Everything takes a decoder function and codes, and returns frozen results that name their space.
"""

from vaescope.geometry.budget import (
    Budget,
    budget_bound,
    budget_bound_over_rotations,
    optimal_variance,
    precision_budget,
    precision_budget_of,
)
from vaescope.geometry.columns import (
    ColumnCosine,
    ColumnNorm,
    column_cosine,
    column_cosine_of,
    column_norm,
    column_norm_of,
)
from vaescope.geometry.data_bias import DataBias, data_bias
from vaescope.geometry.ima_contrast import Mechanism, ima_contrast, ima_contrast_of
from vaescope.geometry.jacobian import Grams, Jacobians, grams, grams_of, jacobians
from vaescope.geometry.local_decoder import (
    LocalDecoders,
    LocalErrors,
    StochasticLoss,
    local_decoders,
)
from vaescope.geometry.local_encoder import (
    LocalEncoder,
    encoder_jacobians,
    local_encoder,
    local_encoder_of,
)
from vaescope.geometry.neighbours import Neighbours, neighbours
from vaescope.geometry.od_score import LegacyOD, ODScore, legacy_od, od_score, od_score_of
from vaescope.geometry.orthogonality import (
    Orthogonality,
    distance_of,
    distance_to_orthogonality,
    haar_baseline,
    nearest_signed_permutation,
    random_decoder_baseline,
)
from vaescope.geometry.overview import Overview, overview
from vaescope.geometry.pca import (
    PrincipalAlignment,
    PrincipalOrder,
    principal_alignment,
    principal_order,
)
from vaescope.geometry.polar import Coordinates, coordinate_system, coordinate_systems
from vaescope.geometry.reconstruction import ReconstructionParts, reconstruction_parts
from vaescope.geometry.result import GeometryMeasure
from vaescope.geometry.rotation import (
    ElboUnderRotation,
    RateUnderRotation,
    ScoreUnderRotation,
    elbo_under_rotation,
    plane_rotation,
    random_rotations,
    rate_under_rotation,
    rotated,
    score_under_rotation,
)
from vaescope.geometry.self_consistency import SelfConsistency, self_consistency
from vaescope.geometry.space import Space, bernoulli_of_means
from vaescope.geometry.variance_law import (
    VarianceLaw,
    predicted_variance,
    variance_law,
    variance_law_of,
)
from vaescope.nets.initialisation import reinitialised

__all__ = [
    "Budget",
    "ColumnCosine",
    "ColumnNorm",
    "Coordinates",
    "DataBias",
    "ElboUnderRotation",
    "GeometryMeasure",
    "Grams",
    "Jacobians",
    "LegacyOD",
    "LocalDecoders",
    "LocalEncoder",
    "LocalErrors",
    "Mechanism",
    "Neighbours",
    "ODScore",
    "Orthogonality",
    "Overview",
    "PrincipalAlignment",
    "PrincipalOrder",
    "RateUnderRotation",
    "ReconstructionParts",
    "ScoreUnderRotation",
    "SelfConsistency",
    "Space",
    "StochasticLoss",
    "VarianceLaw",
    "bernoulli_of_means",
    "budget_bound",
    "budget_bound_over_rotations",
    "column_cosine",
    "column_cosine_of",
    "column_norm",
    "column_norm_of",
    "coordinate_system",
    "coordinate_systems",
    "data_bias",
    "distance_of",
    "distance_to_orthogonality",
    "elbo_under_rotation",
    "encoder_jacobians",
    "grams",
    "grams_of",
    "haar_baseline",
    "ima_contrast",
    "ima_contrast_of",
    "jacobians",
    "legacy_od",
    "local_decoders",
    "local_encoder",
    "local_encoder_of",
    "nearest_signed_permutation",
    "neighbours",
    "od_score",
    "od_score_of",
    "optimal_variance",
    "overview",
    "plane_rotation",
    "precision_budget",
    "precision_budget_of",
    "predicted_variance",
    "principal_alignment",
    "principal_order",
    "random_decoder_baseline",
    "random_rotations",
    "rate_under_rotation",
    "reconstruction_parts",
    "reinitialised",
    "rotated",
    "score_under_rotation",
    "self_consistency",
    "variance_law",
    "variance_law_of",
]
