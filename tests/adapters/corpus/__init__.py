"""Public styles of VAE classes, written by us, with the truth about each."""

from tests.adapters.corpus import returns

__all__ = ["STYLES"]

STYLES = (*returns.STYLES,)
