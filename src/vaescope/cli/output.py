"""What commands say: results on stdout, everything else on stderr."""

import errno
import logging
import re
import shutil
import sys
import sysconfig
import textwrap
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from vaescope.cli import completion
from vaescope.errors import VaescopeError
from vaescope.escaping import printable

__all__ = [
    "ConditionOption",
    "DataOption",
    "DeviceOption",
    "JsonOption",
    "LikelihoodOption",
    "ModelOption",
    "OutputOption",
    "PathArgument",
    "PosteriorOption",
    "PriorOption",
    "QuietOption",
    "RangeOption",
    "SeedOption",
    "as_options",
    "error",
    "explain",
    "messages",
    "own_code",
    "result",
    "unexpected",
    "wrapped",
]

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="No progress and no messages.")]
SeedOption = Annotated[int | None, typer.Option("--seed", min=0, help="Random seed.")]
DeviceOption = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")]
PathArgument = Annotated[Path, typer.Argument(help="A run folder, or a checkpoint with --model.")]
ModelOption = Annotated[
    str | None, typer.Option(help="module:factory that builds the checkpoint's module.")
]
DataOption = Annotated[
    str | None,
    typer.Option(
        help="A dataset's name, a folder of images, or an npz, npy or csv file.",
        autocompletion=completion.datasets,
    ),
]
PosteriorOption = Annotated[
    str | None, typer.Option(help="What the encoder returns, e.g. interleaved,logvar.")
]
OutputOption = Annotated[
    str | None, typer.Option(help="What the decoder returns: probabilities, logits, pixels.")
]
LikelihoodOption = Annotated[
    str | None,
    typer.Option(help="Likelihood of the output: bernoulli, gaussian:0.01, squared-error ..."),
]
PriorOption = Annotated[
    str | None, typer.Option(help="The model's prior: normal, student-t:5, sparse:0.8, laplace.")
]
ConditionOption = Annotated[
    Path | None,
    typer.Option(
        help="An npy or npz file with a row for each example, e.g. class labels; none if the "
        "model was trained without one."
    ),
]
RangeOption = Annotated[
    str | None, typer.Option(help="Range of the images that the model takes, e.g. -1,1.")
]


#: Arguments in Python that are options here.
_ARGUMENTS = re.compile(r"\b(posterior|output|value_range|likelihood|prior|condition)=([\w\"'(-]*)")


def as_options(text: str) -> str:
    """A message of the library with its arguments as the command line has them.

    >>> as_options('pass posterior=logvar or value_range=.')
    'pass --posterior logvar or --value-range.'
    """

    def option(found: re.Match[str]) -> str:
        name = f"--{found[1].replace('_', '-')}"
        return f"{name} {found[2]}" if found[2] else name

    text = text.replace("data of its training size", "data of its training size (--size N)")
    return _ARGUMENTS.sub(option, text)


class _Console(Console):
    """All text goes through here before a terminal sees it: names in data may hold escape codes."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            plain = segment.control or segment.text.isprintable()
            yield segment if plain else Segment(printable(segment.text), segment.style)


def messages(*, quiet: bool) -> Console:
    """A console on stderr, and the library's log on it. Colours and width follow the terminal.
    Brackets and colons are what they are: paths may have them."""
    console = _Console(stderr=True, quiet=quiet, highlight=False, markup=False, emoji=False)

    class _Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            console.print(Text(as_options(record.getMessage())))

    log = logging.getLogger("vaescope")
    log.handlers = [_Handler()]
    log.setLevel(logging.INFO)
    return console


def result(content: Mapping[str, Any], plain: str, *, as_json: bool) -> None:
    """The outcome of a command: JSON for machines or text for people, on stdout."""
    from vaescope.runs import strict_json  # it brings pydantic, --help does not

    if as_json:
        print(strict_json(content), flush=True)
        return
    text = printable(plain)
    # A pipe gets whole lines, to be searched.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    print(wrapped(text, width) if width else text, flush=True)


def wrapped(text: str, width: int) -> str:
    """Lines that end at words; what continues a line is set in. Paths stay whole.

    >>> print(wrapped("supported: 8 of 8 seeds", 16))
    supported: 8 of
        8 seeds
    """
    return "\n".join(_folded(line, width) for line in text.splitlines())


def _folded(line: str, width: int) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line, width, subsequent_indent=f"{indent}    ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def error(kind: str, message: str, remedy: str, *, as_json: bool) -> None:
    """An error as the interface has it."""
    if as_json:
        import json

        print(json.dumps({"error": {"type": kind, "message": message, "remedy": remedy}}))
    else:
        console = _Console(stderr=True, highlight=False, soft_wrap=True)
        console.print(Text.assemble(("Error: ", "bold red"), f"{message} {remedy}".strip()))
    sys.stdout.flush()


def explain(problem: VaescopeError, *, as_json: bool) -> None:
    said = as_options(problem.message), as_options(problem.remedy)
    error(type(problem).__name__, *said, as_json=as_json)


def unexpected(problem: BaseException, *, as_json: bool) -> None:
    """An error that no code of ours foresaw: of the machine, or a fault of vaescope."""
    kind, said = type(problem).__name__, _message(problem)
    if isinstance(problem, MemoryError) or "allocate memory" in said or "out of memory" in said:
        remedy = "Lower batch, latent or the size of the data, or use a machine with more memory."
        error("MemoryError", f"Out of memory: {said}.", remedy, as_json=as_json)
    elif isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "Free some space, then run the same command again."
        error("DiskError", f"The disk is full: {said}.", remedy, as_json=as_json)
    elif isinstance(problem, OSError):
        error(kind, f"{said}.", "Look at that file and its permissions.", as_json=as_json)
    else:
        for line in "".join(traceback.format_exception(problem)).splitlines():
            print(printable(line), file=sys.stderr)  # whoever mends it needs to see where
        remedy = "This is a bug in vaescope: please report it with the lines above."
        if place := own_code(problem):
            remedy = f"It was raised in or below your own code: {place}. Correct it there."
        error(kind, f"{kind}: {said}.", remedy, as_json=as_json)


def _message(problem: BaseException) -> str:
    """Anybody's class may fail to say what it is."""
    try:
        return str(problem) or "no message"
    except Exception as error:
        return f"its message raises {type(error).__name__}"


def own_code(problem: BaseException) -> str | None:
    """The innermost line that is neither vaescope's nor a library's, where vaescope's library
    called it."""
    package, commands = str(Path(__file__).parents[1]), str(Path(__file__).parent)
    libraries = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    frames = traceback.extract_tb(problem.__traceback__)
    called = [
        frame.filename.startswith(package) and not frame.filename.startswith(commands)
        for frame in frames
    ]
    below = frames[called.index(True) :] if any(called) else ()
    for frame in reversed(below):
        if not frame.filename.startswith((package, "<", *libraries)):
            return f"{frame.filename}, line {frame.lineno}, in {frame.name}"
    return None
