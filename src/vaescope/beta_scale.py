"""Conversions between the betas that papers print.

Higgins et al. 2017, https://openreview.net/forum?id=Sy2fzU9gl, section 3.
"""

__all__ = ["normalised_beta", "plain_beta"]


def normalised_beta(beta: float, pixels: int, latent: int) -> float:
    """beta * latent / pixels: the strength that can be compared across image and latent sizes.

    `beta` weighs a rate summed over `latent` dimensions against a distortion summed over `pixels`
    values (channels count: 3 * 64 * 64 for a colour image); the result weighs their means. In this
    package beta is always the plain one.

    >>> round(normalised_beta(4.0, 64 * 64, 10), 5)
    0.00977
    """
    return beta * latent / pixels


def plain_beta(normalised: float, pixels: int, latent: int) -> float:
    """The beta of summed terms that has this normalised value: the inverse.

    >>> plain_beta(normalised_beta(4.0, 64 * 64, 10), 64 * 64, 10)
    4.0
    """
    return normalised * pixels / latent
