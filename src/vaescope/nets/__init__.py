"""Networks: pairs of bodies, posteriors and likelihoods."""

from vaescope.nets.conditional import conditional_conv_pair, conditional_mlp_pair
from vaescope.nets.conv import conv_pair
from vaescope.nets.dcgan import dcgan_pair
from vaescope.nets.likelihoods import (
    BernoulliLikelihood,
    GaussianLikelihood,
    LaplaceLikelihood,
    Likelihood,
    LocalGaussianLikelihood,
    SquaredErrorLikelihood,
)
from vaescope.nets.mlp import linear_pair, mlp_pair
from vaescope.nets.pair import Pair
from vaescope.nets.posteriors import (
    DiagonalPosterior,
    FullPosterior,
    IsotropicPosterior,
    NormalisedPosterior,
    ParameterPosterior,
    PointPosterior,
    SeparatePosterior,
)
from vaescope.vae import Decoder, Encoder

__all__ = [
    "BernoulliLikelihood",
    "Decoder",
    "DiagonalPosterior",
    "Encoder",
    "FullPosterior",
    "GaussianLikelihood",
    "IsotropicPosterior",
    "LaplaceLikelihood",
    "Likelihood",
    "LocalGaussianLikelihood",
    "NormalisedPosterior",
    "Pair",
    "ParameterPosterior",
    "PointPosterior",
    "SeparatePosterior",
    "SquaredErrorLikelihood",
    "conditional_conv_pair",
    "conditional_mlp_pair",
    "conv_pair",
    "dcgan_pair",
    "linear_pair",
    "mlp_pair",
]
