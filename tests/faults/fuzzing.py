"""Mutated files that somebody gives us: read, or refused in our words, and never run."""

import shutil
import tempfile
from pathlib import Path

import numpy as np

from vaescope.checking import check
from vaescope.exporting.hub import load_pretrained
from vaescope.runs import Run
from vaescope.tables import read_table
from vaescope.tuning.store import Folder

from .world import World, in_our_words

Random = np.random.Generator

#: What readers stumble over.
_WORDS = (b"[" * 3000, b"{" * 70, b"-1", b"1e999", b"NaN", b"null", b'"\\ud800"', b"\xff", b"\x00",
          b"99999999999999999999", b"!!int x", b"*a", b"&a ", b"\x1b[2J", b"[]", b"{}", b"true",
          b'""', b"\n", b": ", b"\r", b"0.5", b"-9223372036854775808", b"1e308", b"\xed\xa0\x80",
          b"!!python/object/apply:os.system [x]", b"../../x", b"=1+1")  # fmt: skip


def fuzz(world: World, case: int, random: Random) -> None:
    """A file with a few mutations."""
    name = list(world.inputs)[case % len(world.inputs)]
    content, read = world.inputs[name]
    file = world.folder / "inputs" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(_mutated(content, random))
    in_our_words(lambda: read(file))


def folders(world: World, case: int, random: Random) -> None:
    """A run, an export or a tune of which one file is mutated."""
    with tempfile.TemporaryDirectory(dir=world.folder) as place:
        kind = case % 3
        folder = Path(place) / "x"
        if kind == 2:
            tune = Folder(folder)
            tune.create({"format": 1})
            for step in range(4):
                tune.add_round("beta-1", step, (0.1, 0.2))
        else:
            shutil.copytree((world.run, world.export)[kind].path, folder)
        files = sorted(file for file in folder.iterdir() if not file.name.startswith("."))
        file = files[int(random.integers(len(files)))]
        file.write_bytes(_mutated(file.read_bytes(), random))
        in_our_words(lambda: check(folder))
        if kind == 0:
            in_our_words(lambda: (Run(folder).open(), Run(folder).records()))
            in_our_words(lambda: read_table(folder, timing=True))
        elif kind == 1:
            in_our_words(lambda: load_pretrained(folder))
        else:
            in_our_words(lambda: Folder(folder).rounds("beta-1", 9))


def _mutated(content: bytes, random: Random) -> bytes:
    made = bytearray(content)
    for _ in range(int(random.integers(1, 4))):
        at = int(random.integers(len(made) + 1))
        match int(random.integers(6)):
            case 0 if at < len(made):
                made[at] ^= 1 << int(random.integers(8))
            case 1:
                made[at : at + int(random.integers(1, 20))] = b""
            case 2:
                made[at:at] = _WORDS[int(random.integers(len(_WORDS)))]
            case 3:
                end = at + int(random.integers(1, 12))
                made[at:end] = _WORDS[int(random.integers(len(_WORDS)))]
            case 4:
                del made[at:]
            case _:
                made[at:at] = made[max(at - 40, 0) : at]
    return bytes(made)
