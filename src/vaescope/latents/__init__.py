"""What the latents are: types, and what follows from them."""

from vaescope.latents.types import Types, types

__all__ = ["Types", "types"]
