"""`vaescope cite`: the BibTeX of a method, metric or dataset."""

from difflib import get_close_matches
from typing import Annotated

import typer

from vaescope.cli.output import JsonOption, result
from vaescope.errors import UsageError

__all__ = ["cite"]


def cite(
    name: Annotated[str, typer.Argument(help="A method, metric or dataset.")],
    as_json: JsonOption = False,
) -> None:
    """Print the BibTeX of a method, metric or dataset.

    Example: vaescope cite beta-vae
    """
    from vaescope.citations import BIBTEX, METHODS
    from vaescope.data import CARDS

    keys = {**METHODS, **{card.name: card.citation for card in CARDS.values()}}
    keys |= {key: key for key in BIBTEX}
    if name not in keys:
        near = get_close_matches(name, keys, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f"Nothing to cite is called {name}.{hint}", f"Known: {', '.join(keys)}.")
    entry = BIBTEX[keys[name]]
    result({"name": name, "bibtex": entry}, entry, as_json=as_json)
