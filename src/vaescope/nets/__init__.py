"""Networks: pairs of bodies, posteriors and likelihoods."""

from vaescope.nets.conv import conv_pair
from vaescope.nets.likelihoods import (
    BernoulliLikelihood,
    GaussianLikelihood,
    SquaredErrorLikelihood,
)
from vaescope.nets.linear import linear_pair
from vaescope.nets.mlp import mlp_pair
from vaescope.nets.pair import Pair
from vaescope.nets.posteriors import DiagonalPosterior, FullPosterior, PointPosterior

__all__ = [
    "BernoulliLikelihood",
    "DiagonalPosterior",
    "FullPosterior",
    "GaussianLikelihood",
    "Pair",
    "PointPosterior",
    "SquaredErrorLikelihood",
    "conv_pair",
    "linear_pair",
    "mlp_pair",
]
