"""`vaescope serve`: pages over all runs of a folder."""

import secrets
from pathlib import Path
from typing import Annotated

import typer

from vaescope.cli.output import JsonOption, QuietOption, messages, result
from vaescope.errors import UsageError

__all__ = ["serve"]


def serve(
    folder: Annotated[
        Path | None, typer.Argument(help="A folder of runs. [default: runs]", metavar="DIR")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = 8765,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on for other machines; they need a token.")
    ] = None,
    allow_imports: Annotated[
        bool,
        typer.Option("--allow-imports", help="Import your own modules if runs use them."),
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Serve pages over all runs of a folder: tables, reports, comparisons, sliders.

    Example: vaescope serve runs
    """
    import socket

    from vaescope.paths import runs_folder

    try:
        import uvicorn

        from vaescope.serving.app import create_app
        from vaescope.serving.site import Options
    except ModuleNotFoundError as error:
        raise UsageError(
            f"Serving needs {error.name}, which is not installed.",
            "Run: pip install 'vaescope[serve]'.",
        ) from error
    console = messages(quiet=quiet)
    root = (runs_folder() if folder is None else folder).resolve()
    if not root.is_dir():
        raise UsageError(f"There is no folder {root}.", "Give a folder of runs.")
    address = "127.0.0.1" if host is None else host
    token = None if host is None else secrets.token_urlsafe(32)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # With its protocol named, asyncio sends each answer at once: without it, it leaves Nagle's
    # algorithm on, and every page waits 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(128)  # whoever reads the address below can connect
    except OSError as error:
        raise UsageError(
            f"Cannot listen on {address} port {port}: {error.strerror or error}.",
            "Give another --port, or 0 for a free one.",
        ) from error
    port = listener.getsockname()[1]
    app = create_app(Options(root, address, token, allow_imports))
    shown = f"[{address}]" if ":" in address else address
    url = f"http://{shown}:{port}/" + ("" if token is None else f"?token={token}")
    result({"url": url, "folder": str(root)}, url, as_json=as_json)
    if token is not None:
        console.print("Whoever has this address can see the runs; it is shown once.")
    console.print(f"Serving {root}. Ctrl-C stops.", soft_wrap=True)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_keep_alive=30,
        h11_max_incomplete_event_size=64 * 2**10,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listener])
