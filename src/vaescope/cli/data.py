"""`vaescope data`: what datasets there are, where they are, how to get them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from vaescope.cli import completion
from vaescope.cli.output import JsonOption, QuietOption, messages, result
from vaescope.errors import UsageError
from vaescope.wording import nearest

if TYPE_CHECKING:
    from vaescope.data import Card

__all__ = ["data"]

data = typer.Typer(help="List, describe, fetch and render datasets.", no_args_is_help=True)

NameArgument = Annotated[
    str, typer.Argument(help="A dataset, e.g. shapes3d.", autocompletion=completion.datasets)
]


def _card(name: str) -> "Card":
    from vaescope.data import CARDS

    if name not in CARDS:
        says = f"There is no dataset {name}. {nearest(name, CARDS)}".rstrip()
        raise UsageError(says, f"There are {', '.join(CARDS)}.")
    return CARDS[name]


def _facts(card: "Card") -> dict[str, Any]:
    from vaescope.data.files import on_disk

    return {
        "name": card.name,
        "factors": dict(card.factors),
        "n": card.n,
        "shape": list(card.shape),
        "on_disk": on_disk(card),
        "rendered": card.rendered,
        "licence": card.licence,
    }


def _place(row: dict[str, Any]) -> str:
    return "made here" if row["rendered"] else "on disk" if row["on_disk"] else "not on disk"


@data.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List every dataset with its factors, size, location and licence.

    Example: vaescope data list
    """
    from vaescope.data import CARDS

    rows = [_facts(card) for card in CARDS.values()]
    lines = []
    for row in rows:
        factors = ", ".join(f"{name} {size}" for name, size in list(row["factors"].items())[:8])
        if len(row["factors"]) > 8:
            factors = f"{len(row['factors'])} attributes"
        shape = "x".join(map(str, row["shape"]))
        lines.append(
            f"{row['name']:18} {row['n']:>9,} {shape:>8}  {_place(row):11}  "
            f"{row['licence']}; {factors or 'no factors'}"
        )
    result({"datasets": rows}, "\n".join(lines), as_json=as_json)


@data.command()
def info(name: NameArgument, as_json: JsonOption = False) -> None:
    """Describe a dataset: factors, licence, citation, and how to get it offline.

    Example: vaescope data info shapes3d
    """
    from vaescope.citations import BIBTEX
    from vaescope.data.files import instructions

    card = _card(name)
    row = _facts(card)
    steps = "" if card.rendered else instructions(card)
    factors = ", ".join(f"{key} {size}" for key, size in card.factors.items()) or "none"
    lines = [
        f"{card.name}: {card.n:,} rows of shape {tuple(card.shape)}, {_place(row)}",
        f"factors: {factors}",
        f"licence: {card.licence}",
        *([f"notes: {card.notes}"] if card.notes else []),
    ]
    if not card.rendered:
        way = f"vaescope data get {name}, or offline:" if any(f.url for f in card.files) else ""
        lines += [f"to get it: {way}", steps]
    lines += ["", BIBTEX[card.citation]]
    content = {**row, "notes": card.notes, "get": steps, "bibtex": BIBTEX[card.citation]}
    result(content, "\n".join(lines), as_json=as_json)


class _Bar:
    """Download progress: a bar on a terminal, else a line per file."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(),
                   TransferSpeedColumn())  # fmt: skip
        self.console = console
        self.bar = Progress(*columns, console=console, disable=not console.is_terminal)
        self.tasks: dict[str, Any] = {}

    def __call__(self, name: str, done: int, total: int | None) -> None:
        if name not in self.tasks:
            self.tasks[name] = self.bar.add_task(name, total=total)
            if not self.console.is_terminal:
                size = f" ({total:,} bytes)" if total else ""
                self.console.print(f"{name}{size}", soft_wrap=True)
        self.bar.update(self.tasks[name], completed=done, total=total)


@data.command()
def get(name: NameArgument, as_json: JsonOption = False, quiet: QuietOption = False) -> None:
    """Download a dataset and verify its checksum, or say which file to put where.

    Example: vaescope data get mnist
    """
    from vaescope.data.download import get as download

    card = _card(name)
    console = messages(quiet=quiet)
    if card.rendered:
        console.print(f"{name} is generated locally: there is nothing to download.")
        return result({"files": []}, "", as_json=as_json)
    show = _Bar(console)
    with show.bar:
        paths = [str(path) for path in download(card, show)]
    return result({"files": paths}, "\n".join(paths), as_json=as_json)


@data.command()
def render(
    name: NameArgument,
    out: Annotated[Path, typer.Option(help="The npz file to write.")],
    settings: Annotated[list[str] | None, typer.Argument(help="key=value, e.g. size=32")] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Render a built-in dataset to an npz file: images, factors and their names.

    Example: vaescope data render dsprites --out sprites.npz size=32 'grid.shape=[1]'
    """
    import numpy as np

    from vaescope.build import build_data
    from vaescope.data.files import require_space
    from vaescope.paths import disk_errors, replacing
    from vaescope.settings import from_command_line

    card = _card(name)
    if not card.rendered:
        raise UsageError(f"{name} is read from files, not rendered.", "Use `vaescope data get`.")
    if out.suffix != ".npz":
        raise UsageError(f"{out} does not end in .npz.", "Give a path that ends in .npz.")
    console = messages(quiet=quiet)
    chosen = [f"data.name={name}", *(f"data.{setting}" for setting in settings or [])]
    dataset = build_data(from_command_line("vae", chosen).data)
    rows = np.arange(len(dataset))
    images = len(dataset.shape) == 3
    size = len(dataset) * int(np.prod(dataset.shape)) * (1 if images else 4)
    with disk_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    require_space(out.parent, size, f"Rendering {name}", chosen_by="--out")
    console.print(f"Rendering {len(dataset):,} rows of {name}.")
    target = np.empty((len(dataset), *dataset.shape), np.uint8 if images else np.float32)
    for start in range(0, len(rows), 4096):
        chunk = dataset.rows(rows[start : start + 4096])
        target[start : start + 4096] = np.rint(chunk * 255) if images else chunk
    arrays: dict[str, Any] = {"images": target}
    if dataset.factors is not None:
        arrays["factors"] = dataset.factors.classes(rows)
        arrays["factor_names"] = np.array(dataset.factors.names)
        arrays["factor_sizes"] = np.array(dataset.factors.sizes)
    if dataset.sources is not None:
        arrays["factor_values"] = dataset.sources
    with replacing(out) as file:
        np.savez_compressed(file, **arrays)
    content = {"file": str(out), "n": len(dataset), "shape": list(dataset.shape)}
    result(content, f"{out}: {len(dataset):,} rows of shape {dataset.shape}", as_json=as_json)
