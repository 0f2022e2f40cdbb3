"""Somebody else's model with whatever data it takes: arrays, tables, loaders, graphs.

Arrays and what can be made one are read row by row, which gives everything; batches of anything
else go to the encoder untouched, which gives codes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, RandomSampler
from torch.utils.data import Dataset as TorchDataset

from vaescope.adapters import Asked, adapt
from vaescope.adapters.batches import adapt_batches
from vaescope.adapters.remedies import batches_of, with_remedy
from vaescope.data import Dataset
from vaescope.data.dataset import Kind
from vaescope.data.in_memory import described
from vaescope.data.labels import labels_of
from vaescope.errors import (
    RangeError,
    ReadingError,
    UnreadableError,
    UnscoredError,
    UsageError,
    VaescopeError,
)
from vaescope.models import OpenModel
from vaescope.nets.initialisation import reinitialised
from vaescope.pruned import Pruned, asked_again
from vaescope.user_data import BATCH, as_dataset, images_of_batch, is_data, loader_failed

__all__ = ["Shown", "open_foreign"]

Functions = tuple[Callable[..., Any] | None, Callable[..., Any] | None]


@dataclass(frozen=True, eq=False)
class Shown:
    """What the data are, and how they are shown."""

    kind: Kind | None = None
    columns: Any = None
    mean: Any = None
    std: Any = None

    @property
    def anything(self) -> bool:
        """Whether the user said something."""
        return any(value is not None for value in vars(self).values())


def open_foreign(
    model: Any,
    data: Any,
    factors: Any,
    functions: Functions,
    asked: Asked,
    shown: Shown,
    *,
    name: str | None,
    rows: int,
) -> OpenModel:
    """The model on at most `rows` rows of the data, or on the batches that hold as many."""
    if is_data(data) and model is None and functions[0] is not None and functions[1] is None:
        return _codes_alone(data, factors, functions[0], asked, shown, name, rows)
    if is_data(data) and _has_gaps(data) and shown.kind in (None, "signals"):
        return _with_gaps(model, data, factors, functions[0], asked, name, rows)
    if is_data(data):
        table = as_dataset(data, factors, most=rows, foreign=True, kind=shown.kind)
        return _open_rows(model, table, functions, _conditioned(asked, data), shown, name, rows)
    batches = _batches(data, rows, factors)
    if all(isinstance(batch, Tensor | np.ndarray) for batch in batches):
        x = _joined(batches, asked.batch_axis or 0)
        table = as_dataset(x, factors, foreign=True, kind=shown.kind)
        return _open_rows(model, table, functions, _conditioned(asked, x), shown, name, rows)
    encode, decode = functions

    def untouched() -> OpenModel:
        return adapt_batches(model, batches, encode=encode, asked=asked, factors=factors, name=name)

    problem: VaescopeError | None = None
    if encode is not None and decode is None:
        return untouched()
    if encode is not None:
        try:
            return untouched()
        except ReadingError as error:
            problem = error
    try:
        return _open_parts(model, batches, factors, functions, asked, shown, name, rows)
    except (UnreadableError, _NoParts) as error:
        problem = problem or error
    try:
        return untouched()
    except UnreadableError as error:
        raise (error if isinstance(problem, _NoParts) else problem) from error


#: Why only codes are given.
ALONE = "no decode= was given"
GAPS = "some values of the data are missing (NaN), and it is not known how the model scores them"


def _codes_alone(
    data: Any, factors: Any, encode: Callable[..., Any], asked: Asked, shown: Shown,
    name: str | None, rows: int,
) -> OpenModel:  # fmt: skip
    """Codes by a function of the user's, without a decoder."""
    table = as_dataset(data, factors, most=rows, foreign=True, kind=shown.kind)
    chosen = table.sample(rows, seed=0)
    known = None if factors is None else labels_of(factors)[chosen]
    return adapt_batches(
        None, batches_of(table, chosen), encode=encode, asked=asked, factors=known, name=name,
        undecoded=ALONE,
    )  # fmt: skip


def _has_gaps(data: Any) -> bool:
    """Whether some values are NaN."""
    if not isinstance(data, Tensor | np.ndarray):
        return False
    array = data.detach().cpu().float().numpy() if isinstance(data, Tensor) else data
    return array.dtype.kind == "f" and array.ndim > 1 and bool(np.isnan(array).any())


def _with_gaps(
    model: Any, data: Any, factors: Any, encode: Callable[..., Any] | None, asked: Asked,
    name: str | None, rows: int,
) -> OpenModel:  # fmt: skip
    """Codes of data with missing values, by an encoder that takes these."""
    values = torch.as_tensor(data).float()
    fill = "Leave these rows out or fill them as you did for the training."
    share = f"{float(values.isnan().float().mean()):.0%} of the values are NaN"
    keep = np.random.default_rng(0).permutation(len(values))[:rows] if len(values) > rows else None
    chosen = values if keep is None else values[np.sort(keep)]
    known = None if factors is None else labels_of(factors)
    known = known if known is None or keep is None else known[np.sort(keep)]
    try:
        found = adapt_batches(
            model, list(torch.split(chosen, BATCH)), encode=encode, asked=asked, factors=known,
            name=name, undecoded=GAPS,
        )  # fmt: skip
    except ReadingError as error:
        raise RangeError(
            f"{share}, and the model does not show how it encodes such rows.",
            f"{fill} If it takes NaN, state what it returns with posterior=, e.g. pair,logvar.",
        ) from error
    if np.isfinite(found.codes.mean).all() and np.isfinite(found.codes.variance).all():
        return found
    raise RangeError(f"{share}, and the encoder gives no finite codes of such rows.", fill)


class _NoParts(UsageError):
    """Batches that hold no tensor with a row for each example."""


def _open_parts(
    model: Any, batches: list[Any], factors: Any, functions: Functions, asked: Asked, shown: Shown,
    name: str | None, rows: int,
) -> OpenModel:  # fmt: skip
    """The tensors of the batches as arrays: the data come first or have the name of data; the
    others are what the model is conditioned on, where it cannot be read without."""
    axis = asked.batch_axis or 0
    try:
        x = _joined([images_of_batch(batch) for batch in batches], axis)
    except (VaescopeError, ValueError, TypeError, RuntimeError) as error:
        raise _NoParts(
            f"Batches of {type(batches[0]).__name__} hold no tensor with a row for each example.",
            "Pass encode= as a function encode(batch) that returns (mean, logvar).",
        ) from error
    table = as_dataset(x, factors, foreign=True, kind=shown.kind)
    own = _conditioned(asked, x, batches)
    try:
        return _open_rows(model, table, functions, own, shown, name, rows)
    except UnreadableError:
        beside = [] if asked.condition is not None else _beside(batches, len(x))
        for condition in beside:
            again = replace(own, condition=condition)
            try:
                return _open_rows(model, table, functions, again, shown, name, rows)
            except UnreadableError:
                continue
        raise


def _beside(batches: list[Any], n: int) -> list[Any]:
    """The other tensors of the batches that have a row for each example: each alone, and all."""
    first = batches[0]
    if isinstance(first, Mapping):
        taken = images_of_batch(first)
        names = [name for name, value in first.items() if value is not taken]
        columns = [[batch[name] for batch in batches] for name in names]
    else:
        columns = [[batch[i] for batch in batches] for i in range(1, len(first))]
    found = []
    for column in columns:
        try:
            joined = _joined(column, 0)
        except (ValueError, TypeError, RuntimeError):
            continue
        if len(joined) == n:
            found.append(joined)
    return [*found, *([tuple(found)] if len(found) > 1 else [])]


def _conditioned(asked: Asked, x: Any, batches: list[Any] | None = None) -> Asked:
    """A condition that is a function of the batch becomes an array."""
    function = asked.condition
    if not callable(function) or isinstance(function, Tensor):
        return asked
    whole = x if isinstance(x, Tensor | np.ndarray) else np.asarray(x)
    given = [whole] if batches is None else batches
    try:
        parts = [function(batch) for batch in given]
        return replace(asked, condition=_joined(parts, 0))
    except Exception as error:  # anybody's code
        raise UsageError(
            f"condition= failed on a batch with {type(error).__name__}: {error}.",
            "Give a function of a batch that returns a tensor with a row for each example, or that "
            "tensor of all examples.",
        ) from error


def _open_rows(
    model: Any, table: Dataset, functions: Functions, asked: Asked, shown: Shown,
    name: str | None, rows: int,
) -> OpenModel:  # fmt: skip
    table = described(table, shown.columns, shown.mean, shown.std)
    chosen = table.sample(rows, seed=0)
    encode, decode = functions

    def read(asked: Asked, table: Dataset = table) -> OpenModel:
        return adapt(model, table, chosen, encode=encode, decode=decode, asked=asked, name=name)

    try:
        opened = read(asked)
    except UnscoredError as error:
        raise with_remedy(error, model, functions, table, asked, read) from error
    except UnreadableError as error:
        # Whole numbers may be values too, e.g. counts.
        values = replace(table, kind="signals")
        try:
            if table.kind != "tokens" or shown.kind is not None:
                raise error
            opened = read(asked, values)
        except UnreadableError:
            raise with_remedy(error, model, functions, table, asked, read) from error
    if isinstance(model, nn.Module) and decode is None:
        opened = replace(opened, untrained=_untrained(model, opened, asked))
    return opened


def _untrained(
    model: nn.Module, opened: OpenModel, asked: Asked
) -> Callable[[int], Callable[[Tensor], Tensor]] | None:
    """The same decoder from new weights: only a module can be initialised anew."""
    if isinstance(model, Pruned) and model.of_functions:
        return None

    def anew(seed: int) -> Callable[[Tensor], Tensor]:
        again = replace(
            asked_again(opened.inferred), condition=asked.condition, lengths=asked.lengths,
            batch_axis=asked.batch_axis, scored=asked.scored, likelihood=asked.likelihood,
            prior=asked.prior or "normal",  # of no matter to a decoder, but it is not asked again
        )  # fmt: skip
        return adapt(
            reinitialised(model, seed).eval(), opened.data, opened.rows[:2], asked=again
        ).decoder

    return anew


def _batches(data: Any, most: int, factors: Any) -> list[Any]:
    """Batches of a loader, of a list of them, or one that came alone, until they hold `most`
    rows."""
    if factors is not None and isinstance(getattr(data, "sampler", None), RandomSampler):
        raise UsageError(
            "The loader shuffles, so its rows are not those of factors=.",
            "Pass one with shuffle=False, or the data as an array.",
        )
    plain = (Tensor, np.ndarray, tuple, list, Mapping)  # what loaders join
    if isinstance(data, TorchDataset) and not isinstance(data[0], plain):
        data = [data[i] for i in range(min(most, len(data)))]  # type: ignore[arg-type]
    elif isinstance(data, TorchDataset):
        data = DataLoader(data, batch_size=BATCH)
    alone = isinstance(data, tuple | Mapping) or hasattr(data, "num_nodes")
    if alone or not hasattr(data, "__iter__"):
        return [data]
    found: list[Any] = []
    taken = 0
    try:
        for batch in islice(data, most):
            found.append(batch)
            taken += _rows(batch)
            if taken >= most:
                break
    except Exception as error:  # anybody's code
        remedy = "Pass one that gives batches as your model takes them, or the data as an array."
        raise loader_failed(len(found), error, remedy) from error
    if not found:
        raise UsageError("The loader gave no batch.", "Pass a loader that has batches.")
    return found


def _rows(batch: Any) -> int:
    """How many examples a batch holds, as far as can be seen."""
    if hasattr(batch, "num_nodes"):
        return int(batch.num_nodes)
    first = batch
    while isinstance(first, tuple | list | Mapping) and len(first):
        first = next(iter(first.values())) if isinstance(first, Mapping) else first[0]
    return len(first) if isinstance(first, Tensor | np.ndarray) and first.ndim else 1


def _joined(parts: list[Any], axis: int) -> np.ndarray[Any, Any]:
    """One array of all batches, examples first."""
    arrays = []
    for part in parts:
        dense = part.detach().cpu().to_dense() if isinstance(part, Tensor) else part
        narrow = isinstance(dense, Tensor) and dense.dtype == torch.bfloat16
        array = np.asarray(dense.float() if narrow else dense)
        if array.dtype == object or array.ndim == 0:
            raise TypeError("not an array of numbers")
        arrays.append(array)
    whole = np.concatenate(arrays, axis=axis if arrays[0].ndim > axis else 0)
    return np.moveaxis(whole, axis, 0) if whole.ndim > axis else whole
