"""`vaescope cite`: the BibTeX of a paper, method, metric, dataset or study."""

from typing import Annotated

import typer

from vaescope.cli import completion
from vaescope.cli.output import JsonOption, result
from vaescope.errors import UsageError
from vaescope.wording import nearest

__all__ = ["cite"]


def cite(
    name: Annotated[
        str,
        typer.Argument(
            help="A paper, method, metric, dataset or study.", autocompletion=completion.citations
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Print the BibTeX of a paper, method, metric, dataset or study.

    Example: vaescope cite zietlow2022
    """
    from vaescope.citations import BIBTEX, METHODS
    from vaescope.data import CARDS
    from vaescope.paper_aliases import PAPERS, paper_key

    keys = {**METHODS, **{card.name: card.citation for card in CARDS.values()}}
    keys |= {key: key for key in BIBTEX}
    known = key = paper_key(name)
    paper, slash, _ = key.partition("/")
    if slash and paper in PAPERS.values():
        from vaescope.studies.catalogue import find  # only where a study is named: it needs torch

        find(key)
        key = paper
    if key not in keys:
        raise UsageError(
            f"There is no citation {name}. {nearest(name, keys)}".rstrip(),
            "Give the name of a paper, preset, metric, dataset or study, e.g. grzes2023 or mig.",
        )
    entry = BIBTEX[keys[key]]
    result({"name": known, "bibtex": entry}, entry, as_json=as_json)
