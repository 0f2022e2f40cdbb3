"""The process that makes one page: a task as one line on stdin, progress as lines on stdout.

It ends when stdin does: when the server has gone, nobody waits for the page.
"""

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vaescope.errors import RunError, VaescopeError
from vaescope.paths import data_folder, replace_file
from vaescope.reading import parse_json
from vaescope.runs import Run
from vaescope.serving.confinement import is_inside

__all__ = ["main", "require_allowed"]

Say = Callable[[str], None]


def require_allowed(run: Run, task: Mapping[str, Any]) -> None:
    """Refuses to run the user's own code, or to read data elsewhere, unless that was allowed."""
    spec = run.open()
    if spec.own and not task["imports"]:
        raise RunError(
            f"{run.path.name} has custom parts, whose code would be imported.",
            "Start the server with --allow-imports if you trust it.",
        )
    paths = [path for name in ("path", "factors") if (path := getattr(spec.data, name, None))]
    if paths and task["public"]:
        roots = (str(task["root"]), str(data_folder().resolve()))
        if not all(any(is_inside(root, str(path)) for root in roots) for path in paths):
            raise RunError(
                f"The data of {run.path.name} lie outside the folder that is served.",
                "Serve on the loopback address, or move the data.",
            )
    if spec.own:
        from vaescope.own_parts.paths import search_in

        search_in(Path.cwd())


def _report(task: Mapping[str, Any], say: Say) -> str:
    from vaescope.inspection import PARTS, inspect
    from vaescope.report import page_of, render

    run = Run(Path(task["runs"][0]))
    require_allowed(run, task)
    say("interpreting the model")
    found = inspect(run, progress=lambda p: say(f"{PARTS.index(p) + 1} of {len(PARTS)}: {p}"))
    say("drawing")
    return render(page_of(found))


def _comparison(task: Mapping[str, Any], say: Say) -> str:
    from vaescope.comparing import compare
    from vaescope.report.comparison import comparison_page
    from vaescope.report.render import render

    runs = [Run(Path(path)) for path in task["runs"]]
    for run in runs:
        require_allowed(run, task)
    return render(comparison_page(compare(*runs, progress=say)))


def _sweep(task: Mapping[str, Any], say: Say) -> str:
    from vaescope.report.sweep_page import sweep_page
    from vaescope.tables import read_table

    folder = Path(task["runs"][0])
    say("opening the runs")
    table = read_table(folder)
    say("drawing")
    return sweep_page(table, folder / "none" / "sweep.html", folder=folder)


def _study(task: Mapping[str, Any], say: Say) -> str:
    from vaescope.report import render
    from vaescope.report.study_page import study_page
    from vaescope.studies.catalogue import find
    from vaescope.studies.running import load_outcome

    say("reading the table")
    outcome = load_outcome(Path(task["runs"][0]))
    (study,) = find(outcome.study)
    say("drawing")
    return render(study_page(study, outcome, outcome.verdicts()))


MAKERS = {"report": _report, "compare": _comparison, "sweep": _sweep, "study": _study}


def main() -> None:
    """The life of the process."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints is no answer
    task = parse_json(sys.stdin.readline())

    def tell(**content: Any) -> None:
        print(json.dumps(content), file=answers, flush=True)

    def watch() -> None:
        sys.stdin.read()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        page = MAKERS[task["kind"]](task, lambda says: tell(progress=says))
        out = Path(task["out"])
        out.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(out, page.encode())
        tell(done=True)
    except VaescopeError as error:
        tell(error=str(error).replace(f"{task['root']}/", ""))
    except Exception as error:  # of the user's own part, or of data that are damaged
        traceback.print_exc()
        tell(error=f"{type(error).__name__}: {error}")
    os._exit(0)  # a thread still reads stdin


if __name__ == "__main__":
    main()
