"""Small VAE classes of many fields, written by us, each with the truth about its codes."""

from tests.adapters.fields import beside, sequences, spaces

__all__ = ["FIELDS"]

FIELDS = (*sequences.FIELDS, *spaces.FIELDS, *beside.FIELDS)
