"""Loggers by name: what a run writes down is also sent to TensorBoard, W&B, MLflow or a csv file.

Each is a function (run, experiment, step at which it is taken up) -> a context whose value takes
rows. Packages are imported when their logger is asked for: they are extras.
"""

import csv as csv_module
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from vaescope.errors import UsageError
from vaescope.paths import replace_file
from vaescope.runs import Run
from vaescope.specs import Experiment, digest, public, resolve, to_dict

if TYPE_CHECKING:
    from vaescope.training.run import Progress

__all__ = ["LOGGERS", "check_loggers", "logged", "numbers"]

Row = Mapping[str, Any]
Sink = Callable[[Row], None]

#: What runs are filed under by W&B and MLflow.
PROJECT = "vaescope"


def numbers(row: Row) -> dict[str, float]:
    """The numbers of a row by plain keys, without the step; lists get a place, e.g. `variance_3`.

    >>> numbers({"step": 5, "loss": 2.0, "variance": [0.5, 1.0]})
    {'loss': 2.0, 'variance_0': 0.5, 'variance_1': 1.0}
    """
    flat: dict[str, float] = {}
    for name, value in row.items():
        if isinstance(value, list):
            flat |= {f"{name}_{place}": float(number) for place, number in enumerate(value)}
        elif name != "step" and value is not None:
            flat[name] = float(value)
    return flat


@contextmanager
def csv(run: Run, experiment: Experiment, step: int) -> Iterator[Sink]:
    """`history.csv` in the run's folder: a line for each row, a column for each number."""
    del experiment, step  # the history has been cut to the step already
    table: dict[int, dict[str, float]] = {}
    for row in run.records():
        table.setdefault(row["step"], {}).update(numbers(row))
    for row in run.validations():
        held_out = {f"validation_{name}": value for name, value in row.items() if name != "step"}
        table.setdefault(row["step"], {}).update(numbers(held_out))

    def add(row: Row) -> None:
        table.setdefault(row["step"], {}).update(numbers(row))
        write()

    def write() -> None:
        # The whole of it: a later row may have another column, and it is small.
        columns = dict.fromkeys(name for row in table.values() for name in row)
        text = io.StringIO()
        writer = csv_module.DictWriter(text, ["step", *columns], lineterminator="\n")
        writer.writeheader()
        writer.writerows({"step": step, **row} for step, row in sorted(table.items()))
        replace_file(run.path / "history.csv", text.getvalue().encode())

    write()
    yield add


@contextmanager
def tensorboard(run: Run, experiment: Experiment, step: int) -> Iterator[Sink]:
    """Event files in the folder `tensorboard` of the run. Their names hold the host's name."""
    del experiment
    module = import_module("torch.utils.tensorboard")
    with module.SummaryWriter(str(run.path / "tensorboard"), purge_step=step + 1) as writer:

        def add(row: Row) -> None:
            for name, value in numbers(row).items():
                writer.add_scalar(name, value, row["step"])

        yield add


@contextmanager
def wandb(run: Run, experiment: Experiment, step: int) -> Iterator[Sink]:
    """A run of Weights & Biases in the project `vaescope`, its files in the run's folder. Where it
    is sent, and whether at all, W&B's own settings say, e.g. WANDB_MODE=offline."""
    del step
    module = import_module("wandb")
    with _opening("W&B", "Log in with `wandb login`, or set WANDB_MODE=offline."):
        begun = module.init(
            project=PROJECT, name=run.path.name, id=digest(experiment)[:16], resume="allow",
            dir=str(run.path), config=to_dict(public(resolve(experiment))),
            settings=module.Settings(silent=True),
        )  # fmt: skip
    try:
        yield lambda row: begun.log(numbers(row), step=row["step"])
    finally:
        begun.finish()


@contextmanager
def mlflow(run: Run, experiment: Experiment, step: int) -> Iterator[Sink]:
    """A run of MLflow in the experiment `vaescope`, at MLflow's own tracking URI
    (MLFLOW_TRACKING_URI). A run that is resumed is found by its digest."""
    del step
    entities = import_module("mlflow.entities")
    with _opening(
        "MLflow",
        "Set MLFLOW_TRACKING_URI to that of a server, or MLFLOW_ALLOW_FILE_STORE=true to keep runs "
        "as files.",
    ):
        client = import_module("mlflow").MlflowClient()
        number = _mlflow_run(client, run, experiment)

    def add(row: Row) -> None:
        now = int(time.time() * 1000)
        client.log_batch(
            number,
            [entities.Metric(k, v, now, row["step"]) for k, v in numbers(row).items()],
        )

    try:
        yield add
    except BaseException:
        client.set_terminated(number, "KILLED")
        raise
    client.set_terminated(number)


def _mlflow_run(client: Any, run: Run, experiment: Experiment) -> str:
    """The identifier of the run, which is begun where there is none of its digest."""
    folder = client.get_experiment_by_name(PROJECT)
    place = client.create_experiment(PROJECT) if folder is None else folder.experiment_id
    own = digest(experiment)
    found = client.search_runs([place], f"tags.`vaescope.digest` = '{own}'", max_results=1)
    if found:
        return str(found[0].info.run_id)
    begun = client.create_run(place, run_name=run.path.name, tags={"vaescope.digest": own})
    for key, value in _flat(to_dict(public(resolve(experiment)))).items():
        client.log_param(begun.info.run_id, key, value)
    return str(begun.info.run_id)


@contextmanager
def _opening(name: str, advice: str) -> Iterator[None]:
    """A service that cannot be had is a matter of its settings, whatever it raises."""
    try:
        yield
    except Exception as error:
        says = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise UsageError(f"{name} cannot be used: {says}.", advice) from error


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = str(value)[:500]  # as much as MLflow takes
    return flat


LOGGERS: Mapping[str, Callable[[Run, Experiment, int], AbstractContextManager[Sink]]] = {
    "csv": csv,
    "tensorboard": tensorboard,
    "wandb": wandb,
    "mlflow": mlflow,
}


def check_loggers(names: Sequence[str]) -> None:
    """Refuses names that are no loggers and those whose package is not installed."""
    for name in [names] if isinstance(names, str) else names:
        if isinstance(names, str) or name not in LOGGERS:
            raise UsageError(
                f"loggers={names!r} names {name!r}; wanted some of {', '.join(LOGGERS)}.",
                f'Give e.g. loggers=("{next(iter(LOGGERS))}",).',
            )
        if name != "csv" and find_spec(name) is None:
            raise UsageError(
                f"The logger {name} needs a package that is not installed.",
                f"Run: pip install 'vaescope[{name}]'.",
            )


def logged(
    steps: "Iterator[Progress]",
    run: Run,
    experiment: Experiment,
    names: Sequence[str] = (),
    on_record: Sink | None = None,
) -> "Iterator[Progress]":
    """The steps of a training as they come; rows are sent to the loggers and to `on_record`."""
    first = next(steps, None)
    if first is None:  # done before
        return
    with ExitStack() as opened:
        sinks = [opened.enter_context(LOGGERS[name](run, experiment, first.step)) for name in names]
        if on_record is not None:
            sinks.append(on_record)
        yield first
        for step in steps:
            if (row := step.row) is not None:
                for sink in sinks:
                    sink(row)
            yield step
