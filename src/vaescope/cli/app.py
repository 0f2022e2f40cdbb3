"""The table of commands, and how they end."""

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
from vaescope.cli.output import error, explain, unexpected
from vaescope.cli.perturb import perturb
from vaescope.cli.prune import prune
from vaescope.cli.serve import serve
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


app.command()(demo)
app.command()(train)
app.command()(encode)
app.command()(measure)
app.command()(inspect)
app.command()(compare)
app.command()(exchange)
app.command()(court)
app.command()(prune)
app.command("tune-beta")(tune_beta)
app.command("how-many")(how_many)
app.command("perturb")(perturb)
app.command()(export)
app.command()(sweep)
app.command()(study)
app.command()(table)
app.command()(serve)
app.command()(check)
app.command()(doctor)
app.command()(cite)
app.add_typer(data, name="data")


def main() -> NoReturn:
    """Runs a command; 0 done, 1 failed, 2 wrong usage, 130 and 143 after a signal."""
    as_json = "--json" in sys.argv[1:]
    try:
        code = app(standalone_mode=False) or 0
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
        error("Interrupted", "Stopped.", "Give the same command again.", as_json=as_json)
        code = 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away: nothing is left to say
        code = 1
    except Exception as problem:
        unexpected(problem, as_json=as_json)
        code = 1
    sys.exit(int(code))


def _command(problem: TyperException) -> str:
    """The command that was misused, as it was called."""
    context = getattr(problem, "ctx", None)  # of wrong usage only, by classes that typer hides
    return "vaescope" if context is None else str(context.command_path)
