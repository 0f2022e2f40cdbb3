"""The table of commands, and how they end."""

import signal
import sys
from typing import Annotated, NoReturn

import typer
from typer.exceptions import Abort, Exit, TyperException

from vaescope import __version__
from vaescope.cli.check import check
from vaescope.cli.cite import cite
from vaescope.cli.compare import compare
from vaescope.cli.court import court
from vaescope.cli.data import data
from vaescope.cli.demo import demo
from vaescope.cli.doctor import doctor
from vaescope.cli.encode import encode
from vaescope.cli.exchange import exchange
from vaescope.cli.export import export
from vaescope.cli.how_many import how_many
from vaescope.cli.inspect import inspect
from vaescope.cli.measure import measure
from vaescope.cli.output import error, explain, own_code, unexpected
from vaescope.cli.perturb import perturb
from vaescope.cli.prune import prune
from vaescope.cli.serve import serve
from vaescope.cli.signals import ended_by_sigterm
from vaescope.cli.study import study
from vaescope.cli.sweep import sweep
from vaescope.cli.table import table
from vaescope.cli.train import train
from vaescope.cli.tune_beta import tune_beta
from vaescope.errors import Interrupted, UsageError, VaescopeError

__all__ = ["app", "main"]

app = typer.Typer(
    name="vaescope",
    help="Trains, dissects and compares variational autoencoders.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Trains, dissects and compares variational autoencoders."""


app.command("demo", short_help="Train a small beta-VAE and write a report on it.")(demo)
app.command("train", short_help="Train a preset into a run folder.")(train)
app.command("encode", short_help="Write the codes of a run.")(encode)
app.command("measure", short_help="Compute all metrics of codes.")(measure)
app.command("inspect", short_help="Dissect a model and write a report.")(inspect)
app.command("compare", short_help="Compare models on the same images.")(compare)
app.command("exchange", short_help="Test whether two models share a latent space.")(exchange)
app.command("court", short_help="Test every metric on codes with known scores.")(court)
app.command("prune", short_help="Write a run without its passive latents.")(prune)
app.command("tune-beta", short_help="Find the range of useful betas.")(tune_beta)
app.command("how-many", short_help="Estimate how many latents a dataset needs.")(how_many)
app.command("perturb", short_help="Make data with a different local structure.")(perturb)
app.command("export", short_help="Write a model for other tools.")(export)
app.command("sweep", short_help="Train all runs of a sweep file.")(sweep)
app.command("study", short_help="Test a paper's claims.")(study)
app.command("table", short_help="Show runs and scores as a table.")(table)
app.command("serve", short_help="Serve pages over all runs of a folder.")(serve)
app.command("check", short_help="Check files for damage, and repair them.")(check)
app.command("doctor", short_help="Show versions, device, folders and extras.")(doctor)
app.command("cite", short_help="Print the BibTeX of a paper or method.")(cite)
app.add_typer(data, name="data")


def main() -> NoReturn:
    """Runs a command; 0 done, 1 failed, 2 wrong usage, 130 and 143 after a signal."""
    as_json = "--json" in sys.argv[1:]
    sigterm = ended_by_sigterm()
    try:
        code = app(standalone_mode=False) or 0
        if code == 128 + signal.SIGINT:  # typer takes an interrupt and says nothing
            raise KeyboardInterrupt
    except Exit as stop:
        code = stop.exit_code
    except Interrupted as problem:
        explain(problem, as_json=as_json)
        code = 128 + problem.signal
    except VaescopeError as problem:
        explain(problem, as_json=as_json)
        code = 2 if isinstance(problem, UsageError) else 1
    except TyperException as problem:
        remedy = f"See `{_command(problem)} --help`."
        error("UsageError", problem.format_message(), remedy, as_json=as_json)
        code = problem.exit_code
    except (Abort, KeyboardInterrupt):
        number = sigterm() or signal.SIGINT
        error(
            "Interrupted",
            f"Stopped by signal {number}.",
            "Run the same command again.",
            as_json=as_json,
        )
        code = 128 + number
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away: nothing is left to say
        code = 1
    except SystemExit as stop:
        if own_code(stop) is None:
            raise
        unexpected(stop, as_json=as_json)  # somebody's sys.exit(0) is not done
        code = 1
    except BaseException as problem:
        unexpected(problem, as_json=as_json)
        code = 1
    sys.exit(int(code))


def _command(problem: TyperException) -> str:
    """The command that was misused, as it was called."""
    context = getattr(problem, "ctx", None)  # of wrong usage only, by classes that typer hides
    return "vaescope" if context is None else str(context.command_path)
