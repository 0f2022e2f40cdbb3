"""Latent spaces of compared models, exchanged with the first's: `vaescope.latent_exchange`."""

from collections.abc import Sequence

from vaescope.comparing.compared_runs import letter
from vaescope.errors import VaescopeError
from vaescope.latent_exchange import Exchange, exchange_opened
from vaescope.models import OpenModel

__all__ = ["exchanges_with_first"]

#: Images, half of which fit the maps; and models beside the first, both ways each.
ROWS, MODELS = 1_000, 4


def exchanges_with_first(
    opened: Sequence[OpenModel],
) -> tuple[tuple[Exchange, ...], dict[str, str]]:
    """From the first to each of the others and back, by their letters; why some are left out."""
    exchanges, skipped = [], {}
    for other in range(1, len(opened)):
        for a, b in ((0, other), (other, 0)):
            names = letter(a), letter(b)
            if other > MODELS:
                skipped[f"exchange of {names[0]} to {names[1]}"] = f"only {MODELS} are exchanged"
                continue
            try:
                exchanges.append(exchange_opened(opened[a], opened[b], names, rows=ROWS))
            except (VaescopeError, RuntimeError, NotImplementedError) as error:
                # Anybody's decoder: what it does not take is left out, with the reason.
                lines = str(error).splitlines()
                reason = lines[0] if lines else type(error).__name__
                skipped[f"exchange of {names[0]} to {names[1]}"] = reason
    return tuple(exchanges), skipped
