"""What a dissection found, short enough for a terminal."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from vaescope.cli.output import as_options
from vaescope.wording import commas

if TYPE_CHECKING:
    from vaescope.inspection import Inspection, Latent

__all__ = ["show_summary"]

_STYLES = {"active": "blue", "mixed": "yellow", "passive": "dim"}
_TONES = {"good": "green", "note": "blue", "warning": "bold yellow"}

#: Columns below which only the most telling numbers are shown.
NARROW = 60


def show_summary(inspection: "Inspection", console: Console) -> None:
    """Latents that do something, those that do not in one line, and the verdicts, with advice where
    something is amiss.

    Colours follow the console, which knows NO_COLOR and whether it is a terminal.
    """
    if inspection.inferred:
        console.print(Text(f"Inferred: {inspection.read}", style="dim"))
    passive = [latent for latent in inspection.latents if latent.type == "passive"]
    used = [latent for latent in inspection.latents if latent.type != "passive"]
    if used:
        console.print(_table(used, narrow=console.width < NARROW))
    if passive:
        variances = [latent.mean_variance for latent in passive]
        which = commas(sorted(latent.index for latent in passive))
        ends = dict.fromkeys((f"{min(variances):.2f}", f"{max(variances):.2f}"))
        text = f"passive: {which} (mean variance {' to '.join(ends)})"
        console.print(Text(text, style=_STYLES["passive"]))
    console.print()
    console.print(_verdicts(inspection))


def _table(latents: "list[Latent]", *, narrow: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("latent", justify="right")
    table.add_column("type")
    table.add_column("KL (nats)", justify="right")
    if not narrow:
        table.add_column("mean variance", justify="right")
        table.add_column("variance of mean", justify="right")
    knows = any(latent.factor for latent in latents)
    if knows:
        table.add_column("encodes best")
    for latent in latents:
        cells = [
            Text(str(latent.index)),
            Text(latent.type, style=_STYLES[latent.type]),
            Text("-" if latent.kl_nats is None else f"{latent.kl_nats:.3f}"),
        ]
        if not narrow:
            cells += [Text(f"{latent.mean_variance:.3f}"), Text(f"{latent.variance_of_mean:.3f}")]
        if knows:
            known = "" if latent.knowledge is None else f"{latent.factor} ({latent.knowledge:.2f})"
            cells.append(Text(known))
        table.add_row(*cells)
    return table


def _verdicts(inspection: "Inspection") -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for verdict in inspection.verdicts:
        # A consequence stands under its cause, whose advice is the only one.
        under = verdict.cause is not None
        table.add_row(
            Text(verdict.tone, style=_TONES[verdict.tone]),
            Padding(Text(verdict.says), (0, 0, 0, 2 * under)),
        )
        if verdict.tone != "good" and not under:
            table.add_row("", Text(as_options(verdict.advice), style="dim"))
    return table
