"""Every line of docs/inspect.md about data of other fields runs, each with a model of its field."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.adapters.fields import FIELDS
from tests.adapters.fields.beside import ADJACENCY, FEATURES, LABELS
from tests.adapters.fields.field import model_in
from tests.adapters.fields.sequences import LENGTHS, MASK

import vaescope as vs

PAGE = Path(__file__).parents[2] / "docs" / "inspect.md"
BY_NAME = {one.name: one for one in FIELDS}
#: What the data of a line are called -> the class whose user has them.
CLASSES = {
    "waveforms": "audio/waveform", "sensors, col": "sensors/recurrent",
    "sensors, batch": "time first/recurrent", "padded": "lengths/packed", "video": "video/frames",
    "token_ids": "tokens/recurrent", "dataframe": "table/standardised",
    "photos": "standardised/colour", "x, cond": "labels/one-hot",
    "model, graphs": "graphs/dictionary",
    "data=graphs": "graphs/dictionary", "mask, scored": "lengths/mask",
    "encode=model.encode": "audio/waveform",
}  # fmt: skip


def _lines() -> list[str]:
    block = re.search(r"run by tests.*?```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert block is not None
    return block[1].strip().splitlines()


def test_every_class_of_these_has_its_line() -> None:
    assert all(sum(word in line for line in _lines()) == 1 for word in CLASSES)
    assert len(_lines()) == len(CLASSES)


@pytest.mark.slow
@pytest.mark.parametrize("line", _lines(), ids=lambda line: line.split("#")[0].strip())
def test_a_line_runs(line: str) -> None:
    one = BY_NAME[next(name for word, name in CLASSES.items() if word in line)]
    model = model_in(one, "untrained")
    data: Any = one.given(model)["data"]
    names = dict.fromkeys(
        ("waveforms", "sensors", "padded", "video", "token_ids", "dataframe", "photos", "x"), data
    )
    names |= {
        "vs": vs, "model": model, "lengths": LENGTHS, "labels": LABELS, "mask": MASK,
        "vocabulary": list("CNO()=1"),
        "means": np.zeros(6), "stds": np.ones(6), "graphs": [{"x": FEATURES, "adj": ADJACENCY}],
        "net": lambda batch: model.encode(**batch),
    }  # fmt: skip
    call = line.split("#", maxsplit=1)[0].strip()[:-1] + ', effort="latents")'
    found = eval(call, names)
    assert len(found.latents) > 1
